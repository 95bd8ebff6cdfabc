/** Our side: the engine in a process of its own, built as it is shipped. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError, announce } from '../../scripts/build/process.mjs';
import { root } from '../../scripts/build/tree.mjs';
import { OURS } from './ratios.mjs';
import { Worker } from './worker.mjs';

/**
 * Compiles and starts the benchmark that measures on request.
 *
 * @returns {Promise<Worker>}
 */
export async function startOurs() {
  return new Worker(OURS, await compiled('index_bench'), []);
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
  const executable = await compiled('filtered_bench');
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

function compiled(binary) {
  return announce(`${binary}, optimised`, () => Promise.resolve(compile(binary)));
}

function compile(binary) {
  const args = ['build', '--release', '-p', 'kithdb-bench', '--bin', binary];
  const { status, stdout, error } = spawnSync(
    'cargo',
    [...args, '--message-format', 'json-render-diagnostics'],
    {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 1 << 28,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  if (error) throw new BuildError(`cargo: ${error.message}`);
  if (status !== 0) throw new BuildError(`cargo ${args.join(' ')} failed.`);
  for (const line of stdout.split('\n')) {
    if (!line.startsWith('{')) continue;
    const message = JSON.parse(line);
    if (message.executable && message.target?.name === binary) return message.executable;
  }
  throw new BuildError(`cargo does not say where ${binary} is.`);
}
