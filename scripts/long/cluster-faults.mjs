/** The suite `cluster-faults`: faults of a cluster of processes under load, over servers of NATS, which Go builds. */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { goTool } from '../build/go-tool.mjs';
import { run, say } from '../build/process.mjs';
import { root } from '../build/tree.mjs';
import { LOG_SERVER } from './cluster.mjs';
import { addFaults } from './record.mjs';

/** Kinds of faults, of which each is a case in turn: L1 to L13. */
const KINDS = 13;
/** Of a whole run: each kind eight times. */
export const CLUSTER_FAULTS = 8 * KINDS;

/**
 * Cases from number `first` on, each of some faults of one kind; the number is the seed.
 *
 * @returns {Promise<{code: number, log: string, count: number, faults?: import('./record.mjs').FaultCounts}>}
 */
export async function runClusterFaults(first, count) {
  const { path, missing } = await goTool('nats-server', LOG_SERVER);
  const build = join(root, '.build');
  if (missing !== undefined) {
    say(`cluster-faults: ${missing}`);
    return { code: 0, log: join(build, 'logs', 'nats-server.log'), count: 0 };
  }
  mkdirSync(build, { recursive: true });
  const rows = join(build, 'cluster-faults.rows');
  rmSync(rows, { force: true });
  const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const env = {
    KITHDB_NATS_SERVER: path,
    KITHDB_CLUSTER_FAULTS: `${first}:${count}`,
    KITHDB_CLUSTER_FAULTS_ROWS: rows,
  };
  const args = [jest, 'test/cluster/faults/faults'];
  const result = await run('long-cluster-faults', process.execPath, args, { env });
  return { ...result, count, faults: countsIn(rows) };
}

/** What happened by kind of fault. */
function countsIn(path) {
  const counts = {};
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  for (const { id, counts: row } of lines.map(JSON.parse)) {
    counts[id] = counts[id] === undefined ? row : addFaults(counts[id], row);
  }
  return counts;
}
