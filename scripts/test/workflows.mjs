/** The workflows of CI against actionlint. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { goTool } from '../build/go-tool.mjs';
import { BuildError, mustRun } from '../build/process.mjs';
import { root } from '../build/tree.mjs';

const ACTIONLINT = 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12';
const folder = join(root, '.github', 'workflows');

/**
 * In CI a missing tool is a failure, because it would go unnoticed.
 *
 * @returns {Promise<string | undefined>} a note when there is no actionlint
 */
export async function checkWorkflows() {
  requirePinned();
  const { path: actionlint, missing } = await goTool('actionlint', ACTIONLINT);
  if (missing !== undefined) {
    if (process.env.CI) throw new BuildError(`The workflows cannot be checked: ${missing}`);
    return `skipped: ${missing}`;
  }
  const workflows = readdirSync(folder).map((file) => join(folder, file));
  // Whether a machine has shellcheck or pyflakes must not change the result.
  await mustRun('workflows', actionlint, ['-shellcheck=', '-pyflakes=', ...workflows]);
  return undefined;
}

/** A tag of an action can be moved to other code; a commit cannot. */
function requirePinned() {
  for (const file of readdirSync(folder)) {
    const uses = [...readFileSync(join(folder, file), 'utf8').matchAll(/\buses: *(\S+)/g)].map(
      ([, name]) => name,
    );
    const loose = uses.filter((name) => !name.startsWith('./') && !/@[0-9a-f]{40}$/.test(name));
    if (loose.length > 0) throw new BuildError(`${file}: not pinned by commit: ${loose.join(', ')}`);
  }
}
