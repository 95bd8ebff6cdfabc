/** Our side: the engine in a process of its own, built as it is shipped. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compiled } from '../compiled.mjs';
import { OURS } from './ratios.mjs';
import { Worker } from './worker.mjs';

/**
 * Compiles and starts the benchmark that measures on request.
 *
 * @returns {Promise<Worker>}
 */
export async function startOurs() {
  return new Worker(OURS, await compiled('kithdb-bench', 'index_bench'), []);
}

/**
 * Latency and recall of filtered searches through a collection.
 *
 * @param {string} folder with `base.f32` and `query.f32` of the set
 * @param {import('./dataset.mjs').DataSet} set
 * @param {{ef: number, queries: number}} how
 * @returns {Promise<object>} what the benchmark `filtered_bench` writes
 */
export async function measureFiltered(folder, set, { ef, queries }) {
  const executable = await compiled('kithdb-bench', 'filtered_bench');
  const meta = {
    name: set.name,
    rows: set.rows,
    dims: set.dims,
    dtype: 'f32',
    metric: set.metric,
    base: 'base.f32',
    queries: set.queries,
    query: 'query.f32',
  };
  writeFileSync(join(folder, 'meta.json'), JSON.stringify(meta));
  const json = join(folder, 'filtered.json');
  const data = join(folder, 'filtered');
  const args = [folder, '--data', data, '--ef', ef, '--queries', queries, '--json', json].map(String);
  const { status, stderr } = spawnSync(executable, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`filtered_bench failed: ${stderr}`);
  return JSON.parse(readFileSync(json, 'utf8'));
}
