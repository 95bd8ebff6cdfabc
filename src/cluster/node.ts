import type { NatsConnection } from '@nats-io/transport-node';
import type { Logger } from 'pino';
import type { ClusterControl, Engine, HealthIssue, Operation } from '../engine/types';
import { answersTo, NatsChannel, type Channel } from './channel';
import { Acknowledgements } from './coordinator/acknowledgements';
import { Collections } from './coordinator/collections';
import { Coordinator } from './coordinator/coordinator';
import { Operator } from './coordinator/operator';
import { clusterReport } from './coordinator/reports';
import { Reads } from './coordinator/reads';
import { DEFAULT_CHECKPOINTS, type CheckpointSettings } from './checkpoints/settings';
import { Divergence } from './divergence/divergence';
import { connectToNats, type NatsSettings } from './log/nats-connection';
import { NatsLogService } from './log/nats-log';
import type { LogServers, LogService } from './log/record-log';
import { LaterVersionError } from './map/event';
import { ShardMap } from './map/shard-map';
import { nodesOf, replicaOn } from './map/state';
import { startHeartbeats } from './membership/heartbeats';
import { hasIdentity, IdentityError, identityIn } from './membership/identity';
import { Members } from './membership/members';
import { NatsHeartbeats } from './membership/nats-heartbeats';
import { PeerClient, type PeerAddress } from './peers/client';
import { PeerRefusal } from './peers/errors';
import type { PeerHandlers, ReplicaRead } from './peers/handlers';
import { Hedging } from './peers/hedging';
import { listenForPeers, type PeerListener } from './peers/listener';
import { READS } from './peers/read-headers';
import type { PeerSecurity } from './peers/security';
import { reconcile } from './reconciliation/reconcile';
import { decodeAnswer, encodeAnswer } from './record/answer';
import { LocalReplicas } from './replica/local-replicas';
import type { ReplicaSource } from './replica/opening';
import { Progress } from './replica/progress';
import { bodyOf, isDamage } from './replica/shard-replica';
import type { CheckpointStore } from './store/checkpoint-store';
import { CurrentLogs } from './streams/current-logs';
import { KnownMap } from './streams/known-map';
import { openGroupStreams, openMapStream } from './streams/opening';
import { StreamRepair } from './streams/repair';
import { keepCheckpoints, watchStreams } from './streams/upkeep';
import { StreamWatch } from './streams/watch';
import { collectionNames } from '../snapshots/files-of-collections';
import { pause } from './pause';
import { nameOf, shardOfName, type Shard } from './shards';

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
}

const CONNECT_MS = 10_000;
const PREPARE_MS = 30_000;
const JOIN_MS = 30_000;
const RECONCILE_MS = 1_000;
const PROPOSE_MS = 5_000;
const COMPARE_MS = 1_000;
const SAVE_PROGRESS_MS = 2_000;
/** Between two looks at the position of a replica that a read waits for. */
const POLL_MS = 5;

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
  readonly ends: (() => void | Promise<void>)[];
}

/** A node of a cluster: joins it, follows its shards, answers other nodes, and proposes what failures demand. */
export class ClusterNode {
  #running: Running | undefined;
  #underWay = 0;
  #isStopping = false;
  readonly #problems = new Map<string, string>();

  constructor(private readonly parts: ClusterNodeParts) {}

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

  /** What `GET /cluster` says; undefined before the node has joined. */
  report(): object | undefined {
    const running = this.#running;
    return running && clusterReport(running.map.state, running.self, running.members);
  }

  healthIssues(): readonly HealthIssue[] {
    const { replicas, divergence } = this.#running ?? {};
    const ofReplicas = [...(replicas?.failures() ?? []), ...(divergence?.problems() ?? [])];
    const failures = ofReplicas.map(([name, what]) => ({
      kind: 'collection' as const,
      collection: name,
      what,
    }));
    const others = [...this.#problems].map(([about, what]) => ({
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

  /** Joins the cluster with an engine that is open; resolves when the node knows the shard map and can answer. */
  async start(engine: Engine): Promise<void> {
    const { settings, log } = this.parts;
    const ends: Running['ends'] = [];
    try {
      await refuseSingleNode(engine, settings.dataDir);
      const { node: self } = await identityIn(settings.dataDir, settings.cluster);
      const connection = await connectToNats(settings.nats, `kithdb ${self}`, CONNECT_MS);
      ends.push(() => connection.close());
      const servers = await NatsLogService.of(connection, {
        ...{ cluster: settings.cluster, groups: settings.groups, replicas: settings.logReplicas },
      });
      const known = await KnownMap.open(settings.dataDir);
      const created = await openMapStream(servers, known, PREPARE_MS);
      const map = new ShardMap(servers.map, {
        ignored: (version, why) => {
          log.warn({ version, why }, 'an event of the shard map was passed over');
        },
      });
      ends.push(() => map.stop());
      await map.start(AbortSignal.timeout(PREPARE_MS));
      await openGroupStreams(servers, map, PREPARE_MS);
      await known.note({ created, lastSequence: map.state.version });
      const noteMap = (): Promise<void> => known.note({ created, lastSequence: map.state.version });
      this.#every(SAVE_PROGRESS_MS, 'shard map', noteMap, ends);
      this.#running = await this.#join({ self, connection, servers, map, known, engine, ends });
    } catch (error) {
      await endAll(ends);
      throw error;
    }
  }

  async #join(
    given: Pick<Running, 'self' | 'connection' | 'map' | 'ends'> & {
      readonly servers: LogServers;
      readonly known: KnownMap;
      readonly engine: Engine;
    },
  ): Promise<Running> {
    const { self, connection, servers, map, known, engine, ends } = given;
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
        const shard = shardOfName(name);
        if (shard !== undefined && isDamage(error)) this.#replace(shard, { self, map, replicas });
      },
    });
    ends.push(() => replicas.stop());
    const common = { node: self, engine, map, members, replicas, channel, log };
    const watch: StreamWatch = new StreamWatch({ ...common, logs: servers, known });
    const repair = new StreamRepair({ ...common, logs: servers, hasStore: store !== undefined });
    const divergence: Divergence = new Divergence(common);
    ends.push(divergence.start());
    const listener = await this.#listen({ engine, map, replicas, divergence });
    ends.push(() => listener.close());
    const peers = new PeerClient(settings.security);
    ends.push(() => {
      peers.close();
    });
    const parts = { self, logs, map, members, replicas, divergence };
    const coordinator = this.#coordinate({ ...parts, engine, peers, acknowledgements });
    const running: Running = { ...parts, connection, coordinator, watch, repair, ends };
    this.#heartbeat(running, listener.port);
    await this.#announce(running, listener.port);
    replicas.start();
    this.#repeat(running, progress, { ...common, logs });
    return running;
  }

  /** Does what a node does again and again. */
  #repeat(
    running: Running,
    progress: Progress,
    common: Omit<Parameters<typeof keepCheckpoints>[0], 'dataDir' | 'store' | 'settings'>,
  ): void {
    const { settings, store } = this.parts;
    const { connection, divergence, watch, repair, ends } = running;
    this.#every(RECONCILE_MS, 'reconciliation', () => this.#reconcile(running), ends);
    this.#every(
      COMPARE_MS,
      'divergence',
      () => {
        divergence.compareHeartbeats();
        return Promise.resolve();
      },
      ends,
    );
    this.#every(SAVE_PROGRESS_MS, 'progress', () => progress.save(), ends);
    const repeating = {
      ends,
      every: (ms: number, what: string, work: () => Promise<void>) => {
        this.#every(ms, what, work, ends);
      },
    };
    watchStreams(connection, { watch, repair }, repeating);
    if (store !== undefined) {
      const checkpoints = { ...DEFAULT_CHECKPOINTS, ...settings.checkpoints };
      const { dataDir } = settings;
      keepCheckpoints({ ...common, dataDir, store, settings: checkpoints }, repeating);
    }
  }

  /** Answers other nodes. */
  #listen({
    engine,
    map,
    replicas,
    divergence,
  }: Pick<Running, 'map' | 'replicas'> & {
    readonly engine: Engine;
    readonly divergence: Divergence;
  }): Promise<PeerListener> {
    const { settings, log } = this.parts;
    const handlers: PeerHandlers = {
      engine,
      admit: (read, signal) => this.#admit(read, map, replicas, signal),
      positions: () =>
        Promise.resolve(replicas.all().map(({ name, position }) => ({ collection: name, position }))),
      digest: ({ collection, position }) => {
        const own = divergence.own(collection, position);
        return own === undefined ? Promise.reject(new PeerRefusal('behind')) : Promise.resolve(own);
      },
    };
    const operations: ReadonlySet<Operation> = new Set([...READS, 'flush', 'optimize', 'rebuild_index']);
    return listenForPeers({ ...settings.listen, security: settings.security, handlers, log, operations });
  }

  /** Whether a read of another node may run: this node has the replica, and it is where the read needs it. */
  async #admit(
    { collection, position = 0, mapVersion }: ReplicaRead,
    map: ShardMap,
    replicas: LocalReplicas,
    signal: AbortSignal,
  ): Promise<number> {
    const shard = shardOfName(collection);
    if (map.failure instanceof LaterVersionError) throw new PeerRefusal('closing');
    if (mapVersion > map.state.version) await map.waitFor(mapVersion, signal);
    const replica = shard && replicas.current(shard);
    if (replica === undefined) throw new PeerRefusal('map_version', map.state.version);
    await reached(replica, position, signal);
    return replica.position;
  }

  #coordinate({
    self,
    engine,
    logs,
    map,
    members,
    replicas,
    divergence,
    peers,
    acknowledgements,
  }: Pick<Running, 'self' | 'logs' | 'map' | 'members' | 'replicas' | 'divergence'> & {
    readonly engine: Engine;
    readonly peers: PeerClient;
    readonly acknowledgements: Acknowledgements;
  }): Coordinator {
    const liveNodes = (): readonly string[] =>
      nodesOf(map.state)
        .map(({ id }) => id)
        .filter((id) => members.isLive(id));
    const addressOf = (id: string): PeerAddress | undefined =>
      members.isLive(id) ? addressIn(map.state.nodes.get(id)?.address) : undefined;
    const loadOf = (id: string): number => members.heartbeatOf(id)?.underWay ?? 0;
    const reads = new Reads({
      ...{ node: self, engine, peers, addressOf, hedging: new Hedging({ loadOf }) },
      local: (shard) => replicas.current(shard),
      mapVersion: () => map.state.version,
      reached,
    });
    const collections = new Collections({
      ...{ map, logs, liveNodes },
      check: async (name, configuration) => {
        // The engine of a node has replicas alone: a collection that is none of them is there for this moment.
        const collection = shardOfName(name) === undefined ? name : `x${name}`;
        const body = bodyOf(engine, configuration);
        await engine.execute({ operation: 'create_collection', collection, body });
        await engine.execute({ operation: 'delete_collection', collection });
      },
    });
    return new Coordinator({
      ...{ node: self, engine, logs, collections, reads, members, acknowledgements },
      operator: new Operator(map, collections),
      map: () => map.state,
      refusalOf: (shard) => divergence.refusalOf(shard),
    });
  }

  #heartbeat({ self, connection, map, members, replicas, ends }: Running, port: number): void {
    const heartbeats = new NatsHeartbeats(connection, this.parts.settings.cluster);
    ends.push(
      startHeartbeats(heartbeats, members, () => ({
        node: self,
        address: this.#addressWith(port),
        mapVersion: map.state.version,
        underWay: this.#underWay,
        replicas: replicas.reports(),
        catchingUp: replicas.catchingUp(),
      })),
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

  #addressWith(port: number): string {
    const { listen, advertise } = this.parts.settings;
    const { host, port: at } = advertise ?? { host: listen.host, port };
    return host.includes(':') ? `[${host}]:${at}` : `${host}:${at}`;
  }

  /** Has a damaged replica of this node made anew, unless it is the last active one of its shard: another one has what it had. */
  #replace(shard: Shard, { self, map, replicas }: Pick<Running, 'self' | 'map' | 'replicas'>): void {
    const place = { ...shard, node: self };
    const isActive = (): boolean => {
      const entry = map.state.collections.get(shard.collection)?.shards[shard.shard];
      return entry !== undefined && replicaOn(entry, self)?.state === 'active';
    };
    const replace = async (): Promise<void> => {
      if (isActive()) {
        const event = { kind: 'replica_deactivated', ...place } as const;
        const decision = await map.propose(() => event, { timeoutMs: PROPOSE_MS });
        if ('refused' in decision && isActive()) throw new Error(decision.refused);
      }
      replicas.replace(shard);
    };
    replace().catch((error: unknown) => {
      this.parts.log.error({ replica: nameOf(shard), err: error }, 'a replica cannot be made anew');
    });
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

  /** Does something again and again, never twice at a time. What fails is a health issue until it works again. */
  #every(ms: number, what: string, work: () => Promise<void>, ends: Running['ends']): void {
    let running: Promise<void> = Promise.resolve();
    let isIdle = true;
    const timer = setInterval(() => {
      if (!isIdle) return;
      isIdle = false;
      running = work().then(
        () => {
          isIdle = true;
          this.#problems.delete(what);
        },
        (error: unknown) => {
          isIdle = true;
          this.#problems.set(what, error instanceof Error ? error.message : String(error));
        },
      );
    }, ms);
    ends.push(async () => {
      clearInterval(timer);
      await running;
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

  /** Refuses what comes. */
  giveUpRequests(): void {
    this.#isStopping = true;
  }

  /** Leaves: what was begun last ends first. The map keeps the node, which comes back with its replicas. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const running = this.#running;
    this.#running = undefined;
    if (running !== undefined) await endAll(running.ends);
  }
}

/** Everything in the engine of a node comes from the cluster: what was there before would be lost. @throws IdentityError */
async function refuseSingleNode(engine: Engine, dataDir: string): Promise<void> {
  if (!(await hasIdentity(dataDir)) && (await collectionNames(engine)).length > 0) {
    throw new IdentityError(
      `${dataDir} has collections of a single node: a new node of a cluster begins empty`,
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

/** Resolves when a replica is at a position. Rejects with the reason of the signal. */
async function reached(
  replica: { readonly position: number },
  position: number,
  signal: AbortSignal,
): Promise<void> {
  while (replica.position < position) {
    signal.throwIfAborted();
    await pause(POLL_MS, signal);
  }
}

/** `host:port` as an address; undefined for something else. */
function addressIn(text: string | undefined): PeerAddress | undefined {
  const [, host, port] = /^\[?([^\]]+?)\]?:(\d+)$/.exec(text ?? '') ?? [];
  return host === undefined ? undefined : { host, port: Number(port) };
}
