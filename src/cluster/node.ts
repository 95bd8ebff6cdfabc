import { EngineError, type ClusterReport, type Engine, type HealthIssue } from '../engine/types';
import { reasonOf } from '../files/explained';
import { authority } from '../http/listen';
import { LinkedList } from '../http/linked-list';
import { CleanUp } from '../process/clean-up';
import { adopt, contentOf, type AdoptionParts } from './adoption/adopt';
import { answersTo, NatsChannel, type Channel } from './channel';
import type { ServingNode } from './cluster-engine';
import { Acknowledgements } from './coordinator/acknowledgements';
import { coordinatorOf } from './coordinator/assemble';
import type { Coordinator } from './coordinator/coordinator';
import { clusterReport } from './coordinator/reports';
import { Divergence } from './divergence/divergence';
import { connectToNats } from './log/nats-connection';
import { NatsLogService } from './log/nats-log';
import { LogChangedError, type LogServers } from './log/record-log';
import { LaterVersionError } from './map/event';
import { ShardMap } from './map/shard-map';
import { startHeartbeats } from './membership/heartbeats';
import {
  IdentityError,
  identityIn,
  makeIdentity,
  noteBrought,
  type NodeIdentity,
} from './membership/identity';
import { Members } from './membership/members';
import { alsoAfterChanges } from './membership/news';
import { NatsHeartbeats } from './membership/nats-heartbeats';
import { PeerClient } from './peers/client';
import type { PeerListener } from './peers/listener';
import { serverSecurity, type PeerSecurity, type PeerTls } from './peers/security';
import { decodeAnswer, encodeAnswer } from './record/answer';
import { LocalReplicas } from './replica/local-replicas';
import { Progress } from './replica/progress';
import { serveReplicas, type ServedReplicas } from './replica/serving';
import { isDamage } from './replica/shard-replica';
import { CurrentLogs } from './streams/current-logs';
import { KnownMap, MapLostError } from './streams/known-map';
import { openGroupStreams, openMapStream } from './streams/opening';
import { MapRepair } from './streams/map-repair';
import { StreamRepair } from './streams/repair';
import { StreamWatch } from './streams/watch';
import { joinWhenPossible } from './joining';
import { beginWork } from './node-work';
import { RepeatedWork } from './repeated-work';
import type { ClusterNodeParts, ClusterSettings, RunningNode } from './running-node';

export type { ClusterNodeParts, ClusterSettings } from './running-node';

const CONNECT_MS = 10_000;
const PREPARE_MS = 30_000;
const JOIN_MS = 30_000;

/** What a node that joins has opened. */
interface Joining extends Pick<RunningNode, 'connection' | 'map' | 'engine' | 'cleanUp'> {
  readonly identity: NodeIdentity;
  readonly servers: LogServers;
  readonly known: KnownMap;
  /** When the stream of the map was made, as the log servers write it. */
  readonly created: string;
  readonly noteMap: () => Promise<void>;
}

/** A node of a cluster: joins it, follows its shards, answers other nodes, and proposes what failures demand. */
export class ClusterNode implements ServingNode {
  #running: RunningNode | undefined;
  readonly #underWay = new LinkedList<AbortController>();
  #isStopping = false;
  #security: PeerSecurity;
  /** What uses the certificate, also while this node is joining. */
  readonly #secured = new Set<PeerListener | PeerClient>();
  /** Ends a start that is under way. */
  readonly #leaving = new AbortController();
  #starting: Promise<void> = Promise.resolve();
  /** Why this node, which was in its cluster, is not in it now. */
  #outside: string | undefined;

  constructor(private readonly parts: ClusterNodeParts) {
    this.#security = parts.settings.security;
  }

  get coordinator(): Coordinator | undefined {
    return this.#isStopping ? undefined : this.#running?.coordinator;
  }

  /** Why this node answers nothing any more; undefined while it does. */
  get refusal(): string | undefined {
    const failure = this.#running?.map.failure;
    return failure instanceof LaterVersionError ? failure.message : this.#outside;
  }

  /** How many collections the cluster has. */
  get collections(): number | undefined {
    return this.#running?.map.state.collections.size;
  }

  /** What this node knows of the cluster; undefined before it has joined. */
  report(): ClusterReport | undefined {
    const running = this.#running;
    if (running === undefined) return undefined;
    const { map, node, members, replicas } = running;
    return clusterReport(map.state, node, members, [...replicas.reports().values()]);
  }

  /** New connections between this node and others have this certificate. @throws Error that says why it cannot be used */
  useCertificate(tls: PeerTls): void {
    serverSecurity(tls);
    this.#security = tls;
    for (const one of this.#secured) one.useCertificate(tls);
  }

  healthIssues(): readonly HealthIssue[] {
    if (this.#running === undefined) {
      return this.#outside === undefined ? [] : [{ kind: 'background', what: this.#outside }];
    }
    const { replicas, divergence, watch, repair, mapRepair, repeated } = this.#running;
    const ofReplicas = [...replicas.failures(), ...divergence.problems()];
    const ofWork = [...repeated.problems].map(([about, what]) => `${about}: ${what}`);
    return [
      ...ofReplicas.map(([collection, what]) => ({ kind: 'collection' as const, collection, what })),
      ...[...ofWork, ...watch.problems(), ...repair.problems(), ...mapRepair.problems()].map((what) => ({
        kind: 'background' as const,
        what,
      })),
    ];
  }

  /**
   * Joins the cluster with an engine that is open; resolves when the node knows the shard map and can answer. While the log
   * servers cannot be reached it tries again.
   */
  start(engine: Engine): Promise<void> {
    const { signal } = this.#leaving;
    this.#starting = joinWhenPossible(() => this.#startOnce(engine, signal), signal, this.parts.log);
    return this.#starting;
  }

  /** Ends all that this node does in the cluster, and joins it again: another stream has the shard map. */
  #rejoin(engine: Engine): void {
    const running = this.#running;
    if (running === undefined || this.#isStopping) return;
    const { log } = this.parts;
    this.#running = undefined;
    this.#outside = 'this node joins its cluster again';
    log.warn(this.#outside);
    const left = new EngineError('unavailable', { message: this.#outside });
    for (const over of this.#underWay) over.abort(left);
    this.#starting = running.cleanUp
      .run()
      // What fails in that is in the log.
      .catch(() => undefined)
      .then(() => {
        const { signal } = this.#leaving;
        // Of a map that was just read again: a log server that is behind led its stream for a while.
        const mayPass = (error: unknown): boolean =>
          error instanceof MapLostError || error instanceof LogChangedError;
        return joinWhenPossible(() => this.#startOnce(engine, signal), signal, log, mayPass);
      });
    this.#starting.then(
      () => {
        this.#outside = undefined;
        log.info('this node has joined its cluster again');
      },
      (error: unknown) => {
        if (this.#isStopping) return;
        this.#outside = reasonOf(error);
        log.fatal({ err: error }, 'this node cannot join its cluster again');
      },
    );
  }

  async #startOnce(engine: Engine, signal: AbortSignal): Promise<void> {
    const cleanUp = new CleanUp(this.parts.log);
    try {
      this.#running = await this.#join(await this.#open(engine, cleanUp, signal), signal);
    } catch (error) {
      // What fails in that is in the log.
      await cleanUp.run().catch(() => undefined);
      throw error;
    }
  }

  /** Opens the streams of the cluster, and reads the shard map. */
  async #open(engine: Engine, cleanUp: CleanUp, signal: AbortSignal): Promise<Joining> {
    const { settings, log } = this.parts;
    const { cluster, dataDir, groups, logReplicas: replicas } = settings;
    const preparing = { timeoutMs: PREPARE_MS, signal };
    const identified = await identityIn(dataDir, cluster);
    const content = identified === undefined ? await contentOf(engine) : identified.brings;
    const connecting = { timeoutMs: CONNECT_MS, signal };
    const connection = await connectToNats(settings.nats, `kithdb ${cluster}`, connecting);
    cleanUp.add('connection to the log servers', () => connection.close());
    const servers = await NatsLogService.of(connection, { cluster, groups, replicas });
    const known = await KnownMap.open(dataDir);
    const { created, firstSequence } = await openMapStream(servers, known, preparing);
    const map = new ShardMap(servers.map, {
      ignored: (version, why) => {
        log.warn({ version, why }, 'an event of the shard map was passed over');
      },
    });
    cleanUp.add('shard map', () => map.stop());
    await map.start(AbortSignal.any([signal, AbortSignal.timeout(PREPARE_MS)]), firstSequence);
    map.ended().catch((error: unknown) => {
      log.fatal({ err: error }, 'the shard map cannot be read any more');
    });
    if (identified === undefined && content !== undefined) refuseSecond(map, dataDir);
    await openGroupStreams(servers, map, preparing);
    const noteMap = (): Promise<void> => known.note(created, map.state);
    await noteMap();
    // What was done in the last seconds is part of what the directory is served alone with.
    cleanUp.add('saved shard map', noteMap);
    const identity = identified ?? (await makeIdentity(dataDir, cluster, content));
    return { identity, connection, servers, map, known, created, noteMap, engine, cleanUp };
  }

  async #join(joining: Joining, signal: AbortSignal): Promise<RunningNode> {
    const { identity, connection, servers, map, known, created, noteMap, engine, cleanUp } = joining;
    const { node } = identity;
    const { settings, source, store, log } = this.parts;
    const channel = new NatsChannel(connection, settings.cluster);
    const members = new Members(node, () => performance.now());
    const progress = await Progress.open(settings.dataDir);
    const logs = new CurrentLogs(servers, map, () => watch);
    const replicas: LocalReplicas = new LocalReplicas({
      ...{ node, engine, logs, map, progress, source: source(engine, node) },
      events: eventsOf(channel, () => divergence),
      failed: (name, error) => {
        log.error({ replica: name, err: error }, 'a replica cannot follow its stream');
        if (isDamage(error)) divergence.noteDamaged(name);
      },
    });
    const common = { node, engine, map, members, replicas, channel, log };
    const watch: StreamWatch = new StreamWatch({ ...common, logs: servers, known });
    const repair = new StreamRepair({ ...common, logs: servers, hasStore: store !== undefined });
    const mapRepair = new MapRepair({
      ...{ ...common, servers, known, created, noteMap, watch },
      rejoin: () => {
        this.#rejoin(engine);
      },
    });
    const divergence: Divergence = new Divergence(common);
    cleanUp.add('replicas', () => replicas.stop());
    cleanUp.add('divergence', divergence.start());
    const acknowledgements = takeAnswers(channel, node, divergence, cleanUp);
    const { listener, peers } = await this.#openPeers({ engine, map, replicas, divergence, log }, cleanUp);
    const parts = { node, engine, logs, map, members, replicas, divergence };
    const { limits, models } = this.parts;
    const coordinating = {
      ...parts,
      peers,
      acknowledgements,
      models,
      ...(limits !== undefined && { limits }),
    };
    const running: RunningNode = {
      ...{ ...parts, connection, channel, watch, repair, mapRepair, cleanUp },
      ...{ coordinator: coordinatorOf(coordinating), repeated: new RepeatedWork() },
    };
    const address = addressOf(settings, listener.port);
    cleanUp.add('heartbeats', this.#heartbeat(running, address));
    await announce(map, node, address, signal);
    await this.#bring(identity, { node, engine, logs, map, signal });
    replicas.start();
    beginWork(running, this.parts, { progress, noteMap });
    return running;
  }

  /** Answers other nodes, and makes what asks them. */
  async #openPeers(
    served: ServedReplicas,
    cleanUp: CleanUp,
  ): Promise<{ readonly listener: PeerListener; readonly peers: PeerClient }> {
    const security = this.#security;
    const listener = await serveReplicas(served, this.parts.settings.listen, security);
    cleanUp.add('answers to other nodes', () => listener.close());
    const peers = new PeerClient(security);
    cleanUp.add('questions to other nodes', () => {
      peers.close();
    });
    for (const one of [listener, peers]) {
      this.#secured.add(one);
      cleanUp.add('certificate', () => {
        this.#secured.delete(one);
      });
      // It was replaced while the node began to listen.
      if (this.#security !== security && this.#security !== 'insecure') one.useCertificate(this.#security);
    }
    return { listener, peers };
  }

  /** Returns what ends it. */
  #heartbeat({ node, connection, map, members, replicas }: RunningNode, address: string): () => void {
    return startHeartbeats(
      new NatsHeartbeats(connection, this.parts.settings.cluster),
      members,
      () => ({
        node,
        address,
        mapVersion: map.state.version,
        underWay: this.#underWay.size,
        replicas: replicas.reports(),
        catchingUp: replicas.catchingUp(),
      }),
      alsoAfterChanges(map),
    );
  }

  /** Makes replicas of what the node had before it joined, where some of that is not in the cluster yet. */
  async #bring(identity: NodeIdentity, parts: Omit<AdoptionParts, 'dataDir'>): Promise<void> {
    const { dataDir } = this.parts.settings;
    if (identity.brings === undefined) return;
    await adopt({ ...parts, dataDir }, identity.brings);
    await noteBrought(dataDir, identity);
    this.parts.log.info(
      { collections: identity.brings.collections },
      'this node brought its collections along',
    );
  }

  /** Does the work of a request, which counts as under way meanwhile, and is aborted where this node joins again. */
  async counted<T>(over: AbortController, work: () => Promise<T>): Promise<T> {
    const entry = this.#underWay.add(over);
    try {
      return await work();
    } finally {
      entry.remove();
    }
  }

  /** Refuses what comes, and ends a start that is under way. */
  giveUpRequests(): void {
    this.#isStopping = true;
    this.#leaving.abort(new EngineError('shutting_down'));
  }

  /**
   * Leaves: what was begun last ends first. The map keeps the node, which comes back with its replicas. Rejects with the first
   * failure when everything has ended.
   */
  async stop(): Promise<void> {
    this.giveUpRequests();
    await this.#starting.catch(() => undefined);
    const running = this.#running;
    this.#running = undefined;
    await running?.cleanUp.run();
  }
}

/** Only the first node may bring collections along: those of another one could have the same names. @throws IdentityError */
function refuseSecond({ state }: ShardMap, dataDir: string): void {
  if (state.nodes.size > 0) {
    throw new IdentityError(
      `${dataDir} has collections, and the cluster has nodes already: only the first node brings its collections along`,
    );
  }
}

/** By what other nodes reach a node that listens at a port. */
function addressOf({ listen, advertise }: ClusterSettings, port: number): string {
  return advertise === undefined ? authority(listen.host, port) : authority(advertise.host, advertise.port);
}

/** Says in the shard map that a node is there, and where. */
async function announce(map: ShardMap, node: string, address: string, signal: AbortSignal): Promise<void> {
  if (map.state.nodes.get(node)?.address === address) return;
  const limits = { timeoutMs: JOIN_MS, signal };
  const decision = await map.change(() => ({ kind: 'node_joined', node, address }), limits);
  if ('refused' in decision) throw new Error(`this node cannot join the cluster: ${decision.refused}`);
}

/** Takes the answers of replicas to the writes of this node. */
function takeAnswers(
  channel: Channel,
  node: string,
  divergence: Divergence,
  cleanUp: CleanUp,
): Acknowledgements {
  const acknowledgements = new Acknowledgements();
  const end = channel.receive(answersTo(node), (bytes) => {
    const answer = decodeAnswer(bytes);
    if (answer === undefined) return;
    acknowledgements.take(answer);
    divergence.compare(answer);
  });
  cleanUp.add('answers of replicas', end);
  return acknowledgements;
}

/** What the replicas of a node tell others. */
function eventsOf(
  channel: Channel,
  divergence: () => Divergence,
): ConstructorParameters<typeof LocalReplicas>[0]['events'] {
  return {
    answered: (coordinator, answer) => {
      channel.send(answersTo(coordinator), encodeAnswer(answer));
    },
    digested: (digest) => {
      divergence().tell(digest);
    },
  };
}
