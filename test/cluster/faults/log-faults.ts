/** Faults of log servers: L1, L2, L8 and L9 of the plan. */
import { cpSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { cutTail, filesBelow, flipBit, replaceFolder } from './files';
import { between, oneOf, progress, type FaultKind, type Scene } from './kind';
import type { LogServer } from './log-servers';

/** Files with messages of a log server: of its streams, and of the logs of their groups. */
const BLOCKS = /\.blk$/;
/**
 * What a server is taken not to have synced, at most: so many bytes of the end of a file that it wrote in the last moments. It
 * has synced them, but for those that were under way; the disk is one that lies.
 */
const UNSYNCED_BYTES = 4096;
const LAST_MS = 1000;

export const leaderKills: FaultKind = {
  id: 'L1',
  name: 'the leader of the stream, or of all log servers, is killed',
  count: 3,
  async inject(scene, number) {
    const { logs } = scene.cluster;
    const leader = await logs.leader(number % 2 === 0 ? streamOf(scene) : undefined);
    const isMet = scene.load.underWay > 0;
    await leader.kill();
    await progress(scene);
    leader.start();
    await logs.untilRepaired();
    return isMet;
  },
};

/** Every third time nothing is dropped, one server drops its tail, or all do. */
export const logKills: FaultKind = {
  id: 'L2',
  name: 'all log servers are killed, and the ends of their files dropped as if they were not synced',
  count: 3,
  losesRecords: true,
  async inject(scene, number) {
    const { logs } = scene.cluster;
    const isMet = scene.load.underWay > 0;
    const sinceMs = Date.now() - LAST_MS;
    await Promise.all(logs.servers.map((server) => server.kill()));
    for (const server of logs.servers.slice(0, [0, 1, 3][number % 3])) {
      dropTails(server, sinceMs, scene.random);
    }
    logs.startAll();
    await logs.untilRepaired();
    await progress(scene);
    return isMet;
  },
};

/** One server goes back, or two of the three. */
export const rollBacks: FaultKind = {
  id: 'L8',
  name: 'a log server, or two of three, gets the files that it had before',
  count: 2,
  losesRecords: true,
  async inject(scene, number) {
    const { logs, folder } = scene.cluster;
    const servers = logs.servers.slice(0, 1 + (number % 2));
    const copies = mkdtempSync(join(folder, 'before-'));
    await whileDown(scene, servers, (server) => {
      cpSync(server.store, join(copies, server.name), { recursive: true });
    });
    await progress(scene, 50);
    const isMet = scene.load.underWay > 0;
    await whileDown(scene, servers, (server) => {
      replaceFolder(server.store, join(copies, server.name));
    });
    rmSync(copies, { recursive: true });
    await progress(scene);
    return isMet;
  },
};

export const logFlips: FaultKind = {
  id: 'L9',
  name: 'bits flip in files of one log server',
  count: 7,
  losesRecords: true,
  async inject(scene) {
    const { logs } = scene.cluster;
    const server = oneOf(logs.servers, scene.random);
    const isMet = scene.load.underWay > 0;
    await whileDown(scene, [server], ({ store }) => {
      const files = filesBelow(store, BLOCKS);
      for (let flips = between(1, 4, scene.random); flips > 0; flips -= 1) {
        flipBit(oneOf(files, scene.random), scene.random);
      }
    });
    await progress(scene);
    return isMet;
  },
};

/** Does something to the files of servers, which all are down together. */
async function whileDown(
  { cluster: { logs } }: Scene,
  servers: readonly LogServer[],
  work: (server: LogServer) => void,
): Promise<void> {
  await Promise.all(servers.map((server) => server.kill()));
  for (const server of servers) work(server);
  logs.startAll();
  await logs.untilRepaired();
}

/** The files of streams and groups' logs that were written last before the kill lose some of their ends. */
function dropTails({ store }: LogServer, sinceMs: number, random: () => number): void {
  const newest = new Map<string, string>();
  for (const path of filesBelow(store, BLOCKS)) {
    if (statSync(path).mtimeMs < sinceMs) continue;
    const other = newest.get(dirname(path));
    if (other === undefined || numberOf(path) > numberOf(other)) newest.set(dirname(path), path);
  }
  for (const path of newest.values())
    cutTail(path, between(0, Math.min(UNSYNCED_BYTES, statSync(path).size), random));
}

function numberOf(path: string): number {
  return Number.parseInt(basename(path), 10);
}

function streamOf({ cluster, load }: Scene): string {
  return cluster.streamOf(load.collection);
}
