/** Command-line programs that `go install` builds once, into `.build/bin`. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { output, run, tail } from './process.mjs';
import { isCurrent, remember, root } from './tree.mjs';

/** Where they are: for the PATH of a test. */
export const goTools = join(root, '.build', 'bin');

/**
 * @param {string} name of the program
 * @param {string} source its package with a version: what is there of another version is built anew
 * @returns {Promise<{path: string, missing?: string}>} the program, and why there is none where that is so
 */
export async function goTool(name, source) {
  const path = join(goTools, process.platform === 'win32' ? `${name}.exe` : name);
  if (existsSync(path) && isCurrent(name, source)) return { path };
  if ((await output('go', ['version'])) === null)
    return { path, missing: `no Go here, which builds ${name}` };
  const { code, log } = await run(name, 'go', ['install', source], { env: { GOBIN: goTools } });
  if (code !== 0) return { path, missing: `${name} could not be built: ${tail(log).split('\n').at(-1)}` };
  remember(name, source);
  return { path };
}
