/** Three nodes of a cluster with their log servers, and a server by itself, as processes of this machine. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/build/tree.mjs';
import { startServer } from '../../scripts/server-process.mjs';
import { ask } from '../load/calls.mjs';
import { processorUsOf } from '../proc.mjs';
import { until } from './until.mjs';

const COUNT = 3;
const NAME = 'bench';
/** Log groups, of which a collection has that of its number. */
const GROUPS = 16;
const LAUNCHER = join(root, 'bin', 'kithdb.js');

/** Flags of every server: nothing is logged for each request, which is the same for both sides. */
const flagsOf = (dataDir) => ['--port', '0', '--data-dir', dataDir, '--log-level', 'warn'];

/** A server by itself. */
export class Alone {
  static async start(folder) {
    return new Alone(await startServer(LAUNCHER, flagsOf(join(folder, 'alone'))));
  }

  constructor(server) {
    this.server = server;
    this.pids = [server.pid];
    this.logPids = [];
  }

  get url() {
    return this.server.url;
  }

  async untilGreen(collection) {
    await untilGreen(this.server, collection);
  }

  stop() {
    return this.server.stop();
  }
}

/** The nodes; clients use the first one. */
export class Nodes {
  #folder;
  #log;
  #nodes = [];

  /**
   * @param {string} folder for their data
   * @param {import('./log-servers.mjs').LogServers} log
   */
  static async start(folder, log) {
    const nodes = new Nodes(folder, log);
    mkdirSync(join(folder, 'checkpoints'));
    try {
      for (let number = 0; number < COUNT; number += 1) await nodes.start(number);
      await nodes.untilLive();
    } catch (error) {
      await nodes.stop();
      throw error;
    }
    return nodes;
  }

  constructor(folder, log) {
    this.#folder = folder;
    this.#log = log;
  }

  /** That of the node which clients use. */
  get url() {
    return this.#nodes[0].url;
  }

  /** The processes that work for a request: nodes and log servers. */
  get pids() {
    return [...this.#nodes.filter(Boolean).map(({ pid }) => pid), ...this.logPids];
  }

  /** Those of the log servers. */
  get logPids() {
    return this.#log.pids;
  }

  /** Starts a node over what it had before. */
  async start(number) {
    this.#nodes[number] = await startServer(LAUNCHER, flagsOf(join(this.#folder, `node-${number}`)), {
      KITHDB_CLUSTER: this.#log.urls,
      KITHDB_CLUSTER_NAME: NAME,
      KITHDB_CLUSTER_LOG_GROUPS: String(GROUPS),
      KITHDB_CLUSTER_LISTEN: '127.0.0.1:0',
      KITHDB_CLUSTER_STORE: join(this.#folder, 'checkpoints'),
    });
  }

  async kill(number) {
    const node = this.#nodes[number];
    this.#nodes[number] = undefined;
    await node.kill();
  }

  /** Waits until every node knows that all are live. */
  async untilLive() {
    await until('nodes that are all live', async () => {
      const reports = await Promise.all(this.#nodes.map((node) => ask(node, 'GET', '/cluster')));
      return reports.every(
        ({ peers }) => Object.values(peers).filter(({ state }) => state === 'live').length === COUNT,
      );
    });
  }

  /** Waits until every replica of a collection is active and has every record. */
  async untilCurrent(collection) {
    await until(`current replicas of ${collection}`, async () => {
      const report = await ask(this.#nodes[0], 'GET', `/collections/${collection}/cluster`);
      return [...report.local_shards, ...report.remote_shards].every(
        ({ state, behind }) => state === 'Active' && behind === 0,
      );
    });
  }

  /** Waits until the replicas that each node asks for the state of a collection are green. */
  async untilGreen(collection) {
    await this.untilCurrent(collection);
    for (const node of this.#nodes) await untilGreen(node, collection);
  }

  /** The number of a node that has replicas of a shard which the first node lacks; of any other one where there is none. */
  async otherOwner(collection) {
    const { remote_shards: remote, local_shards: local } = await ask(
      this.#nodes[0],
      'GET',
      `/collections/${collection}/cluster`,
    );
    const lacking = remote.filter(({ shard_id: shard }) => !local.some(({ shard_id }) => shard_id === shard));
    for (const number of [1, 2]) {
      const { peer_id: peer } = await ask(this.#nodes[number], 'GET', '/cluster');
      if (lacking.some(({ peer_id }) => peer_id === peer)) return number;
    }
    return 1;
  }

  /** The stream that has the records of a collection. */
  async streamOf(collection) {
    const response = await fetch(new URL(`/collections/${collection}/points/payload`, this.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ payload: {}, points: [0] }),
    });
    const [number] = response.headers.get('kithdb-position').split(':');
    return `KITHDB_${NAME}_${Number(number) % GROUPS}`;
  }

  async stop() {
    await Promise.all(this.#nodes.filter(Boolean).map((node) => node.stop()));
  }
}

/** Processor time of some processes, in microseconds. */
export function processorUs(pids) {
  return pids.reduce((sum, pid) => sum + processorUsOf(pid), 0);
}

async function untilGreen(server, collection) {
  await until(`graphs of ${collection}`, async () => {
    return (await ask(server, 'GET', `/collections/${collection}`)).status === 'green';
  });
}
