/** All that a fresh clone needs before it can serve or be tested; nothing when nothing changed. */
import { buildAddon, updateBindingTypes } from './addon.mjs';
import { requireNode } from './node-version.mjs';
import { installPackages } from './packages.mjs';
import { say } from './process.mjs';
import { prepareSqlite3 } from './sqlite3.mjs';
import { compileTypeScript } from './typescript.mjs';

/**
 * Installs, compiles sqlite3, the engine and the TypeScript: side by side, because on a fresh machine the
 * first two of these dominate and neither keeps all cores busy.
 *
 * @param {{updateTypes?: boolean}} [options] whether generated binding types replace the committed ones
 */
export async function buildEverything({ updateTypes = true } = {}) {
  requireNode();
  await installPackages();
  const outcomes = await Promise.allSettled([buildAddon(), prepareSqlite3(), compileTypeScript()]);
  // The first failure in this order is a cause; one behind it may be its effect.
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
  if (updateTypes && updateBindingTypes()) {
    say('src/engine/binding.d.ts was out of date and is rewritten');
    await compileTypeScript();
  }
}
