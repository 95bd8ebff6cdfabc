/** Builds what a server and its tests need, and leaves alone what is up to date. */
import { buildAddon, requireBuildableAddon, updateBindingTypes } from './addon.mjs';
import { requireNode } from './node-version.mjs';
import { writeDescription } from './openapi.mjs';
import { installPackages } from './packages.mjs';
import { say } from './process.mjs';
import { prepareSqlite3 } from './sqlite3.mjs';
import { compileTypeScript } from './typescript.mjs';

/**
 * Installs packages, then compiles sqlite3 beside the engine and the TypeScript: on a fresh machine both take long, and
 * neither uses all cores.
 *
 * @param {{updateTypes?: boolean}} [options] whether generated binding types replace the committed ones
 */
export async function buildEverything({ updateTypes = true } = {}) {
  requireNode();
  await requireBuildableAddon();
  await installPackages();
  const outcomes = await Promise.allSettled([buildServer(updateTypes), prepareSqlite3()]);
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
}

/** The engine first: the TypeScript is compiled against the types of its exports. */
async function buildServer(updateTypes) {
  await buildAddon();
  if (updateTypes && updateBindingTypes()) say('src/engine/binding.d.ts was out of date and is rewritten');
  await compileTypeScript();
  await writeDescription();
}
