/** Three nodes and three log servers as processes, and the end of a test: everything heals, and is looked at. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { shardOfName } from '../../../src/cluster/shards';
import { until } from '../../until';
import { ask } from './api';
import { Clock, clockLibrary } from './clock';
import { DataNode, type ReplicaSaid } from './data-node';
import type { History, ReplicaAtRest, Seen } from './history';
import { Link } from './link';
import { pointsOf, type Load } from './load';
import { LogServers } from './log-servers';
import { freePorts } from '../../free-ports';

export const NODES = 3;
export const SHARDS = 2;
/** Log groups of the cluster; node-server.ts has the same number. */
const GROUPS = 2;
/** Points that one read at the end asks for. */
const CHUNK = 500;
const CALL_MS = 20_000;

export class FaultCluster {
  readonly nodes: DataNode[] = [];
  /** The collections that were created, in their order. */
  readonly #collections: string[] = [];
  readonly #atEnd: (() => void)[] = [];

  private constructor(
    readonly folder: string,
    readonly logs: LogServers,
  ) {}

  static async start(): Promise<FaultCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'kithdb-faults-'));
    const cluster = new FaultCluster(folder, await LogServers.start(folder));
    const ports = await freePorts(2 * NODES);
    for (let number = 0; number < NODES; number += 1) {
      await cluster.#add(number, ports[2 * number]!, ports[2 * number + 1]!);
    }
    cluster.startNodes();
    try {
      await cluster.untilReady();
    } catch (error) {
      await cluster.end();
      throw error;
    }
    return cluster;
  }

  /** The folder of checkpoints. */
  get store(): string {
    return join(this.folder, 'store');
  }

  async #add(number: number, port: number, peerPort: number): Promise<void> {
    const name = `node-${number}`;
    const dataDir = join(this.folder, name);
    mkdirSync(dataDir);
    const logs = await Promise.all(this.logs.servers.map(({ ports }) => Link.to(ports.client)));
    const peers = await Link.to(peerPort);
    const settings = {
      ...{ dataDir, port, peerPort, advertisedPort: peers.port, store: this.store },
      logServers: logs.map((link) => `127.0.0.1:${link.port}`),
    };
    const library = clockLibrary();
    const clock = library === undefined ? undefined : new Clock(this.folder, name, library);
    const output = join(this.folder, `${name}.out`);
    this.nodes.push(new DataNode(name, settings, { logs, peers }, output, clock));
  }

  /** The addresses of the nodes whose processes run. */
  urls(): readonly string[] {
    const running = this.nodes.filter(({ child }) => child.isRunning);
    return (running.length > 0 ? running : this.nodes).map(({ url }) => url);
  }

  startNodes(): void {
    for (const node of this.nodes) if (!node.child.isRunning) node.start();
  }

  /** Every node answers; those that have ended meanwhile, because they could not join in time, are started again. */
  async untilReady(nodes: readonly DataNode[] = this.nodes): Promise<void> {
    await until(async () => {
      for (const node of nodes) if (!node.child.isRunning) node.start();
      const said = await Promise.all(nodes.map((node) => node.replicas()));
      return said.every((one) => one !== undefined);
    }, 50);
  }

  /** All links pass, and all processes run. */
  async heal(): Promise<void> {
    const links = [...this.logs.links, ...this.nodes.flatMap(({ links: own }) => [...own.logs, own.peers])];
    for (const link of links) link.let('both');
    this.logs.startAll();
    for (const node of this.nodes) node.child.signal('SIGCONT');
    await this.logs.untilHealthy();
    await this.untilReady();
  }

  /** The number that the shard map gives a collection: replicas are named by it. */
  numberOf(collection: string): number {
    return this.#collections.indexOf(collection) + 1;
  }

  /** The stream of the writes of a collection. */
  streamOf(collection: string): string {
    return `KITHDB_faults_${this.numberOf(collection) % GROUPS}`;
  }

  /** A collection with a replica of each shard on every node. */
  async createCollection(name: string): Promise<void> {
    this.#collections.push(name);
    await until(async () => {
      const { status } = await ask(this.nodes[0]!.url, {
        method: 'PUT',
        path: `/collections/${name}?timeout=10`,
        body: {
          ...{ vectors: { size: 4, distance: 'Dot' }, shard_number: SHARDS, replication_factor: NODES },
        },
        timeoutMs: CALL_MS,
      });
      return status === 200 || status === 409;
    }, 100);
  }

  /** Everything heals and comes to rest; gives the whole history of a collection for the checker. */
  async rest(load: Load): Promise<History> {
    await this.heal();
    const last = await this.#lastWrite(load);
    const replicas = await this.#replicasAt(last, load.collection);
    const points = [...new Set(load.writes.flatMap((write) => write.points))];
    const final: Seen[] = [];
    for (let from = 0; from < points.length; from += CHUNK) {
      const chunk = points.slice(from, from + CHUNK);
      await until(async () => {
        const seen = await pointsOf(this.nodes[0]!.url, load.collection, chunk, last.text);
        final.push(...(seen ?? []));
        return seen !== undefined;
      }, 100);
    }
    return { writes: load.writes, reads: load.reads, final, replicas };
  }

  /** A write in every shard, behind all others. */
  async #lastWrite(load: Load): Promise<{ readonly text: string; readonly position: number }> {
    let last: { readonly text: string; readonly position: number } | undefined;
    await until(async () => {
      last = await load.write({ kind: 'upsert', points: Array.from({ length: 40 }, (_, point) => point) });
      return last !== undefined;
    }, 100);
    return last!;
  }

  /** The replicas of a collection, once each shard has one on every node and all have come to a position. */
  async #replicasAt(
    { position }: { readonly position: number },
    collection: string,
  ): Promise<readonly ReplicaAtRest[]> {
    const id = this.numberOf(collection);
    let found: ReplicaAtRest[] = [];
    await until(
      async () => {
        const said = await Promise.all(this.nodes.map((node) => node.replicas()));
        found = said.flatMap((all = [], at) => replicasOf(id, this.nodes[at]!.name, all));
        const isComplete = found.length === NODES * SHARDS;
        return isComplete && found.every((replica) => replica.position >= position);
      },
      100,
      () => found,
    );
    return found;
  }

  /** Has something done when all processes have ended. */
  atEnd(work: () => void): void {
    this.#atEnd.push(work);
  }

  async dropCollection(name: string): Promise<void> {
    await until(async () => {
      const path = `/collections/${name}?timeout=10`;
      const { status } = await ask(this.nodes[0]!.url, { method: 'DELETE', path, timeoutMs: CALL_MS });
      return status === 200;
    }, 100);
  }

  /** Copies what all processes have printed to a folder, for whoever looks into a failure. */
  keepOutputs(folder: string): void {
    mkdirSync(folder, { recursive: true });
    const children = [...this.nodes, ...this.logs.servers].map(({ child }) => child);
    for (const { output } of children) copyFileSync(output, join(folder, basename(output)));
  }

  async end(): Promise<void> {
    await Promise.all(this.nodes.map(({ child }) => child.kill()));
    await this.logs.stop();
    await Promise.all(
      this.nodes.flatMap(({ links }) => [...links.logs, links.peers]).map((link) => link.close()),
    );
    for (const work of this.#atEnd) work();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The replicas of a collection that a node has. */
export function replicasOf(id: number, node: string, said: readonly ReplicaSaid[]): ReplicaAtRest[] {
  return said.flatMap(({ name, ...state }) => {
    const shard = shardOfName(name);
    return shard?.collection === id ? [{ shard: shard.shard, node, ...state }] : [];
  });
}
