/** Nodes of a cluster in one process, each with its own engine and data directory, over NATS servers of the test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import type { ClusterEngine } from '../../src/cluster/cluster-engine';
import { openClusterEngine } from '../../src/cluster/open';
import { openNativeEngine } from '../../src/engine';
import { bytesOf, type Engine, type EngineOptions, type EngineRequest } from '../../src/engine/types';
import type { CheckpointSettings } from '../../src/cluster/checkpoints/settings';
import { readState, type ReplicaState } from '../../src/cluster/replica/shard-replica';
import { NatsServers } from './nats-server';

/** As the settings have them unless they are given. */
const CHECKPOINTS = { everyRecords: 100_000, everyMs: 3_600_000, minAgeMs: 86_400_000 };

/** A node that may be stopped and started again. */
export class TestNode {
  #engine: ClusterEngine | undefined;
  #own: Engine | undefined;

  constructor(
    readonly dataDir: string,
    private readonly cluster: TestCluster,
    private readonly options: Partial<EngineOptions> = {},
  ) {}

  get engine(): ClusterEngine {
    if (this.#engine === undefined) throw new Error('the node is stopped');
    return this.#engine;
  }

  get isRunning(): boolean {
    return this.#engine !== undefined;
  }

  async start(): Promise<void> {
    const log = pino({ level: process.env['CLUSTER_LOG'] ?? 'silent' });
    const engine = await openClusterEngine(
      { dataDir: this.dataDir, searchThreads: 1, ...this.options },
      {
        ...{
          cluster: 'test',
          dataDir: this.dataDir,
          groups: 2,
          logReplicas: this.cluster.servers.servers.length,
        },
        nats: { servers: this.cluster.servers.servers.map(({ port }) => `127.0.0.1:${port}`) },
        listen: { host: '127.0.0.1', port: 0 },
        security: 'insecure',
        store: this.cluster.store,
        checkpoints: { ...CHECKPOINTS, ...this.cluster.checkpoints },
      },
      log,
      (options) => (this.#own = openNativeEngine(options)),
    );
    try {
      await engine.open().catch(async (error: unknown) => {
        await engine.close();
        throw error;
      });
    } catch (error) {
      await engine.close();
      throw error;
    }
    this.#engine = engine;
  }

  async stop(): Promise<void> {
    const engine = this.#engine;
    this.#engine = undefined;
    await engine?.close();
  }

  /** The state of a replica of this node, with its digest; undefined where it has none. */
  async stateOf(replica: string): Promise<ReplicaState | undefined> {
    if (this.#own === undefined) throw new Error('the node was never started');
    return readState(this.#own, replica, true).catch(() => undefined);
  }

  /** The result of a request. Rejects with an `EngineError`. */
  async ask(
    operation: EngineRequest['operation'],
    collection?: string,
    json?: object,
    rest: Partial<EngineRequest> = {},
  ): Promise<unknown> {
    const bytes = json === undefined ? undefined : Buffer.from(JSON.stringify(json));
    const body = bytes && this.engine.receive();
    if (bytes !== undefined) body?.append(bytes, bytes.length);
    const answer = await this.engine.execute({ operation, collection, body, ...rest });
    return (JSON.parse(bytesOf(answer).toString()) as { readonly result: unknown }).result;
  }
}

export class TestCluster {
  readonly nodes: TestNode[] = [];

  private constructor(
    readonly folder: string,
    readonly servers: NatsServers,
    readonly checkpoints: Partial<CheckpointSettings>,
  ) {}

  get store(): string {
    return join(this.folder, 'store');
  }

  /** Starts so many nodes and log servers. */
  static async start(
    nodes: number,
    servers: number,
    checkpoints: Partial<CheckpointSettings> = {},
  ): Promise<TestCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'kithdb-cluster-'));
    const cluster = new TestCluster(folder, await NatsServers.start(servers), checkpoints);
    for (let number = 0; number < nodes; number += 1) await cluster.add();
    return cluster;
  }

  /** Starts one more node, over a directory that may be there. */
  async add(
    options?: Partial<EngineOptions>,
    dataDir = join(this.folder, `node-${this.nodes.length}`),
  ): Promise<TestNode> {
    const node = new TestNode(dataDir, this, options);
    await node.start();
    this.nodes.push(node);
    return node;
  }

  async end(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
    await this.servers.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
