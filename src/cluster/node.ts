import type { NatsConnection } from '@nats-io/transport-node';
import type { Logger } from 'pino';
import {
  EngineError,
  type ClusterControl,
  type ClusterReport,
  type Engine,
  type EngineOptions,
  type HealthIssue,
  type TextModels,
} from '../engine/types';
import { adopt, contentOf, type AdoptionParts } from './adoption/adopt';
import { answersTo, NatsChannel, type Channel } from './channel';
import type { ServingNode } from './cluster-engine';
import { Acknowledgements } from './coordinator/acknowledgements';
import { coordinatorOf } from './coordinator/assemble';
import type { Coordinator } from './coordinator/coordinator';
import { clusterReport } from './coordinator/reports';
import { DEFAULT_CHECKPOINTS, type CheckpointSettings } from './checkpoints/settings';
import { Divergence } from './divergence/divergence';
import { Expiry } from './expiry';
import { connectToNats, type NatsSettings } from './log/nats-connection';
import { NatsLogService } from './log/nats-log';
import type { LogServers, LogService } from './log/record-log';
import { LaterVersionError } from './map/event';
import { ShardMap } from './map/shard-map';
import { nodesOf } from './map/state';
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
import { PeerClient, type PeerAddress } from './peers/client';
import type { PeerListener } from './peers/listener';
import type { PeerSecurity, PeerTls } from './peers/security';
import { reconcile } from './reconciliation/reconcile';
import { decodeAnswer, encodeAnswer } from './record/answer';
import { LocalReplicas } from './replica/local-replicas';
import type { ReplicaSource } from './replica/opening';
import { Progress } from './replica/progress';
import { serveReplicas } from './replica/serving';
import { isDamage } from './replica/shard-replica';
import type { CheckpointStore } from './store/checkpoint-store';
import { CurrentLogs } from './streams/current-logs';
import { KnownMap } from './streams/known-map';
import { openGroupStreams, openMapStream } from './streams/opening';
import { StreamRepair } from './streams/repair';
import { keepCheckpoints, watchStreams, type Repeating } from './streams/upkeep';
import { StreamWatch } from './streams/watch';
import { tryAgain } from './joining';
import { RepeatedWork, type Ends } from './repeated-work';

/** How a node takes part in a cluster. */
export interface ClusterSettings {
  /** Its name: lower-case letters, digits and hyphens. */
  readonly cluster: string;
  readonly dataDir: string;
  readonly nats: NatsSettings;
  readonly groups: number;
  /** Copies that the log servers keep of each stream. */
  readonly logReplicas: number;
  /** Where this node listens for others. */
  readonly listen: PeerAddress;
  /** What others reach it by; where it listens when absent. */
  readonly advertise?: PeerAddress | undefined;
  readonly security: PeerSecurity;
  /** When checkpoints are saved and streams cut; `DEFAULT_CHECKPOINTS` where absent. */
  readonly checkpoints?: Partial<CheckpointSettings> | undefined;
}

/** What a node is given. */
export interface ClusterNodeParts {
  readonly settings: ClusterSettings;
  readonly log: Logger;
  /** Where the checkpoints of the cluster are; without one, streams are never cut. */
  readonly store: CheckpointStore | undefined;
  /** Fills the replicas of this node, whose id is given. */
  readonly source: (engine: Engine, node: string) => ReplicaSource;
  /** The limits of the server that differ from their defaults. */
  readonly limits?: EngineOptions['limits'];
  /** The models that requests may have texts of beside those that are built in. */
  readonly models?: TextModels | undefined;
}

const CONNECT_MS = 10_000;
const PREPARE_MS = 30_000;
const JOIN_MS = 30_000;
const RECONCILE_MS = 1_000;
const PROPOSE_MS = 5_000;
const COMPARE_MS = 1_000;
const SAVE_PROGRESS_MS = 2_000;
/** Between two looks for points whose time has come. */
const EXPIRY_MS = 1_000;

/** Everything of a node that runs. */
interface Running {
  readonly self: string;
  readonly connection: NatsConnection;
  readonly logs: LogService;
  readonly map: ShardMap;
  readonly members: Members;
  readonly replicas: LocalReplicas;
  readonly divergence: Divergence;
  readonly coordinator: Coordinator;
  readonly watch: StreamWatch;
  readonly repair: StreamRepair;
  readonly listener: PeerListener;
  readonly peers: PeerClient;
  readonly ends: Ends;
}

/** A node of a cluster: joins it, follows its shards, answers other nodes, and proposes what failures demand. */
export class ClusterNode implements ServingNode {
  #running: Running | undefined;
  #underWay = 0;
  #isStopping = false;
  #security: PeerSecurity;
  /** Ends a start that is under way. */
  readonly #leaving = new AbortController();
  #starting: Promise<void> = Promise.resolve();
  readonly #repeated = new RepeatedWork();

  constructor(private readonly parts: ClusterNodeParts) {
    this.#security = parts.settings.security;
  }

  get coordinator(): Coordinator | undefined {
    return this.#isStopping ? undefined : this.#running?.coordinator;
  }

  /** Why this node answers nothing any more; undefined while it does. */
  get refusal(): string | undefined {
    const failure = this.#running?.map.failure;
    return failure instanceof LaterVersionError ? failure.message : undefined;
  }

  /** What an operator does to the cluster by this node. */
  get operator(): ClusterControl | undefined {
    return this.coordinator?.operator;
  }

  /** How many collections the cluster has. */
  get collections(): number | undefined {
    return this.#running?.map.state.collections.size;
  }

  /** What this node knows of the cluster; undefined before it has joined. */
  report(): ClusterReport | undefined {
    const running = this.#running;
    if (running === undefined) return undefined;
    const { map, self, members, replicas } = running;
    return clusterReport(map.state, self, members, [...replicas.reports().values()]);
  }

  /** New connections between this node and others have this certificate. @throws Error that says why it cannot be used */
  useCertificate(tls: PeerTls): void {
    this.#running?.listener.useCertificate(tls);
    this.#running?.peers.useCertificate(tls);
    this.#security = tls;
  }

  healthIssues(): readonly HealthIssue[] {
    const { replicas, divergence } = this.#running ?? {};
    const ofReplicas = [...(replicas?.failures() ?? []), ...(divergence?.problems() ?? [])];
    const failures = ofReplicas.map(([name, what]) => ({
      kind: 'collection' as const,
      collection: name,
      what,
    }));
    const others = [...this.#repeated.problems].map(([about, what]) => ({
      kind: 'background' as const,
      what: `${about}: ${what}`,
    }));
    const { watch, repair } = this.#running ?? {};
    const ofStreams = [...(watch?.problems() ?? []), ...(repair?.problems() ?? [])].map((what) => ({
      kind: 'background' as const,
      what,
    }));
    return [...failures, ...others, ...ofStreams];
  }

  /**
   * Joins the cluster with an engine that is open; resolves when the node knows the shard map and can answer. While the log
   * servers cannot be reached it tries again.
   */
  start(engine: Engine): Promise<void> {
    this.#starting = tryAgain(() => this.#startOnce(engine), this.#leaving.signal, this.parts.log);
    return this.#starting;
  }

  async #startOnce(engine: Engine): Promise<void> {
    const { settings, log } = this.parts;
    const { signal } = this.#leaving;
    const ends: Running['ends'] = [];
    const giveUp = (): void => {
      void endAll(ends.slice(0, 1));
    };
    signal.addEventListener('abort', giveUp);
    try {
      const identified = await identityIn(settings.dataDir, settings.cluster);
      const content = identified === undefined ? await contentOf(engine) : identified.brings;
      const connection = await connectToNats(settings.nats, `kithdb ${settings.cluster}`, CONNECT_MS);
      ends.push(() => connection.close());
      signal.throwIfAborted();
      const servers = await NatsLogService.of(connection, {
        ...{ cluster: settings.cluster, groups: settings.groups, replicas: settings.logReplicas },
      });
      const known = await KnownMap.open(settings.dataDir);
      const { created, firstSequence } = await openMapStream(servers, known, PREPARE_MS);
      const map = new ShardMap(servers.map, {
        ignored: (version, why) => {
          log.warn({ version, why }, 'an event of the shard map was passed over');
        },
      });
      ends.push(() => map.stop());
      await map.start(AbortSignal.timeout(PREPARE_MS), firstSequence);
      map.ended().catch((error: unknown) => {
        log.fatal({ err: error }, 'the shard map cannot be read any more');
      });
      if (identified === undefined && content !== undefined) refuseSecond(map, settings.dataDir);
      await openGroupStreams(servers, map, PREPARE_MS);
      const noteMap = (): Promise<void> => known.note(created, map.state);
      await noteMap();
      // What was done in the last seconds is part of what the directory is served alone with.
      ends.push(noteMap);
      this.#repeated.every(SAVE_PROGRESS_MS, 'shard map', noteMap, ends);
      const identity = identified ?? (await makeIdentity(settings.dataDir, settings.cluster, content));
      this.#running = await this.#join({ identity, connection, servers, map, known, engine, ends });
    } catch (error) {
      await endAll(ends);
      throw error;
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }

  async #join(
    given: Pick<Running, 'connection' | 'map' | 'ends'> & {
      readonly identity: NodeIdentity;
      readonly servers: LogServers;
      readonly known: KnownMap;
      readonly engine: Engine;
    },
  ): Promise<Running> {
    const { identity, connection, servers, map, known, engine, ends } = given;
    const { node: self } = identity;
    const { settings, source, store, log } = this.parts;
    const channel = new NatsChannel(connection, settings.cluster);
    const members = new Members(self, () => performance.now());
    const acknowledgements = new Acknowledgements();
    ends.push(
      channel.receive(answersTo(self), (bytes) => {
        const answer = decodeAnswer(Buffer.from(bytes));
        if (answer === undefined) return;
        acknowledgements.take(answer);
        divergence.compare(answer);
      }),
    );
    const progress = await Progress.open(settings.dataDir);
    const logs = new CurrentLogs(servers, map, () => watch);
    const replicas: LocalReplicas = new LocalReplicas({
      ...{ node: self, engine, logs, map, progress, source: source(engine, self) },
      events: eventsOf(channel, () => divergence),
      failed: (name, error) => {
        log.error({ replica: name, err: error }, 'a replica cannot follow its stream');
        if (isDamage(error)) divergence.noteDamaged(name);
      },
    });
    ends.push(() => replicas.stop());
    const common = { node: self, engine, map, members, replicas, channel, log };
    const watch: StreamWatch = new StreamWatch({ ...common, logs: servers, known });
    const repair = new StreamRepair({ ...common, logs: servers, hasStore: store !== undefined });
    const divergence: Divergence = new Divergence(common);
    ends.push(divergence.start());
    const served = { engine, map, replicas, divergence, log };
    const listener = await serveReplicas(served, settings.listen, this.#security);
    ends.push(() => listener.close());
    const peers = new PeerClient(this.#security);
    ends.push(() => {
      peers.close();
    });
    const parts = { self, logs, map, members, replicas, divergence };
    const { limits, models } = this.parts;
    const coordinating = { ...parts, engine, peers, acknowledgements, models };
    const coordinator = coordinatorOf({ ...coordinating, ...(limits !== undefined && { limits }) });
    const rest = { connection, coordinator, watch, repair, listener, peers, ends };
    const running: Running = { ...parts, ...rest };
    this.#heartbeat(running, listener.port);
    await this.#announce(running, listener.port);
    await this.#bring(identity, { node: self, engine, logs, map });
    replicas.start();
    this.#repeated.every(SAVE_PROGRESS_MS, 'progress', () => progress.save(), ends);
    this.#begin(running, { engine, channel });
    this.#expire(running, engine);
    return running;
  }

  /** Begins the work that is done again and again. */
  #begin(running: Running, parts: { readonly engine: Engine; readonly channel: Channel }): void {
    const { settings, store, log } = this.parts;
    const { self: node, connection, logs, map, members, replicas, divergence, ends } = running;
    this.#repeated.every(RECONCILE_MS, 'reconciliation', () => this.#reconcile(running), ends);
    const compare = (): Promise<void> => {
      divergence.compareHeartbeats();
      return Promise.resolve();
    };
    this.#repeated.every(COMPARE_MS, 'divergence', compare, ends);
    const every: Repeating['every'] = (ms, what, work) => {
      this.#repeated.every(ms, what, work, ends);
    };
    watchStreams(connection, running, { every, ends });
    if (store === undefined) return;
    const checkpoints = { ...DEFAULT_CHECKPOINTS, ...settings.checkpoints };
    const keeping = { node, logs, map, members, replicas, store, log, dataDir: settings.dataDir };
    keepCheckpoints({ ...parts, ...keeping, settings: checkpoints }, { every, ends });
  }

  #heartbeat({ self, connection, map, members, replicas, ends }: Running, port: number): void {
    const heartbeats = new NatsHeartbeats(connection, this.parts.settings.cluster);
    ends.push(
      startHeartbeats(
        heartbeats,
        members,
        () => ({
          node: self,
          address: this.#addressWith(port),
          mapVersion: map.state.version,
          underWay: this.#underWay,
          replicas: replicas.reports(),
          catchingUp: replicas.catchingUp(),
        }),
        alsoAfterChanges(map),
      ),
    );
  }

  /** Says in the shard map that this node is there, and where. */
  async #announce({ self, map }: Running, port: number): Promise<void> {
    const address = this.#addressWith(port);
    if (map.state.nodes.get(self)?.address === address) return;
    const decision = await map.propose(() => ({ kind: 'node_joined', node: self, address }), {
      timeoutMs: JOIN_MS,
    });
    if ('refused' in decision) throw new Error(`this node cannot join the cluster: ${decision.refused}`);
    await map.waitFor(decision.version, AbortSignal.timeout(JOIN_MS));
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

  #addressWith(port: number): string {
    const { listen, advertise } = this.parts.settings;
    const { host, port: at } = advertise ?? { host: listen.host, port };
    return host.includes(':') ? `[${host}]:${at}` : `${host}:${at}`;
  }

  /** Proposes what the map lacks, where this node is the one that does. */
  async #reconcile({ self, map, members }: Running): Promise<void> {
    const nodes = nodesOf(map.state).map(({ id }) => id);
    if (members.proposer(nodes) !== self) return;
    for (const event of reconcile(map.state, members)) {
      const decision = await map.propose(() => event, { timeoutMs: PROPOSE_MS });
      // Another event came between, after which this one may not be wanted.
      if ('refused' in decision) return;
      await map.waitFor(decision.version, AbortSignal.timeout(PROPOSE_MS));
    }
  }

  /** Publishes the removal of points whose time has come. */
  #expire({ self, map, members, replicas, coordinator, ends }: Running, engine: Engine): void {
    const over = new AbortController();
    const expiry = new Expiry({
      ...{ node: self, engine, writes: coordinator.writes },
      map: () => map.state,
      isLive: (node) => members.isLive(node),
      isCurrent: (shard) => replicas.current(shard) !== undefined,
    });
    this.#repeated.every(EXPIRY_MS, 'expiry', () => expiry.removeDue(over.signal), ends);
    ends.push(() => {
      over.abort();
    });
  }

  /** Does the work of a request, which counts as under way meanwhile. */
  async counted<T>(work: () => Promise<T>): Promise<T> {
    this.#underWay += 1;
    try {
      return await work();
    } finally {
      this.#underWay -= 1;
    }
  }

  /** Refuses what comes, and ends a start that is under way. */
  giveUpRequests(): void {
    this.#isStopping = true;
    this.#leaving.abort(new EngineError('shutting_down'));
  }

  /** Leaves: what was begun last ends first. The map keeps the node, which comes back with its replicas. */
  async stop(): Promise<void> {
    this.giveUpRequests();
    await this.#starting.catch(() => undefined);
    const running = this.#running;
    this.#running = undefined;
    if (running !== undefined) await endAll(running.ends);
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

async function endAll(ends: Running['ends']): Promise<void> {
  for (const end of ends.reverse()) await end();
}
