/** The workflows of CI against actionlint, which `go install` builds once into `.build/bin`. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError, mustRun, output, run, tail } from '../build/process.mjs';
import { isCurrent, remember, root } from '../build/tree.mjs';

const ACTIONLINT = 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12';
const binDir = join(root, '.build', 'bin');
const actionlint = join(binDir, process.platform === 'win32' ? 'actionlint.exe' : 'actionlint');

/**
 * In CI a missing tool is a failure, because it would go unnoticed.
 *
 * @returns {Promise<string | undefined>} a note when there is no actionlint
 */
export async function checkWorkflows() {
  const missing = await installActionlint();
  if (missing !== undefined) {
    if (process.env.CI) throw new BuildError(`The workflows cannot be checked: ${missing}`);
    return `skipped: ${missing}`;
  }
  const folder = join(root, '.github', 'workflows');
  const workflows = readdirSync(folder).map((file) => join(folder, file));
  // Whether a machine has shellcheck or pyflakes must not change the result.
  await mustRun('workflows', actionlint, ['-shellcheck=', '-pyflakes=', ...workflows]);
  return undefined;
}

/** Why there is none, or undefined when there is. */
async function installActionlint() {
  if (existsSync(actionlint) && isCurrent('actionlint', ACTIONLINT)) return undefined;
  if ((await output('go', ['version'])) === null) return 'no Go here, which builds actionlint';
  const { code, log } = await run('actionlint', 'go', ['install', ACTIONLINT], { env: { GOBIN: binDir } });
  if (code !== 0) return `actionlint could not be built: ${tail(log).split('\n').at(-1)}`;
  remember('actionlint', ACTIONLINT);
  return undefined;
}
