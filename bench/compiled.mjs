/** Binaries of this tree's Rust crates, built as they are shipped. */
import { spawnSync } from 'node:child_process';
import { BuildError, announce } from '../scripts/build/process.mjs';
import { root } from '../scripts/build/tree.mjs';

/**
 * Compiles what is out of date.
 *
 * @param {string} crate
 * @param {string} binary of that crate
 * @returns {Promise<string>} where the binary is
 */
export function compiled(crate, binary) {
  return announce(`${binary}, optimised`, () => Promise.resolve(compile(crate, binary)));
}

function compile(crate, binary) {
  const args = ['build', '--release', '-p', crate, '--bin', binary];
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
