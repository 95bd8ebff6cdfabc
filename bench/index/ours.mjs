/** Our side: the engine in a process of its own, built as it is shipped. */
import { spawnSync } from 'node:child_process';
import { BuildError, announce } from '../../scripts/build/process.mjs';
import { root } from '../../scripts/build/tree.mjs';
import { OURS } from './ratios.mjs';
import { Worker } from './worker.mjs';

/**
 * Compiles the example that does what it is told and starts it.
 *
 * @returns {Promise<Worker>}
 */
export async function startOurs() {
  const executable = await announce('engine, optimised', () => Promise.resolve(compile('index_bench')));
  return new Worker(OURS, executable, []);
}

function compile(example) {
  const args = ['build', '--release', '-p', 'kithdb-engine', '--example', example];
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
    if (message.executable && message.target?.name === example) return message.executable;
  }
  throw new BuildError(`cargo does not say where ${example} is.`);
}
