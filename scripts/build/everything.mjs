/** Builds what a server and its tests need, and leaves alone what is up to date. */
import { buildAddon, forgetAddon, requireBuildableAddon, updateBindingTypes } from './addon.mjs';
import { enginePackagePath, takeEnginePackage } from './engine-package.mjs';
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
  if (enginePackagePath() === undefined) await requireBuildableAddon();
  await installPackages();
  const outcomes = await Promise.allSettled([buildServer(updateTypes), prepareSqlite3()]);
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
}

/** What is the same on every platform: the TypeScript, against the committed types of the engine. */
export async function buildWithoutEngine() {
  requireNode();
  await installPackages();
  await compileTypeScript();
  await writeDescription();
}

/** The engine first: the TypeScript is compiled against the types of its exports. */
async function buildServer(updateTypes) {
  const given = enginePackagePath();
  if (given === undefined) {
    await buildAddon();
    if (updateTypes && updateBindingTypes()) say('src/engine/binding.d.ts was out of date and is rewritten');
  } else {
    await takeEnginePackage(given);
    // The next build without the variable builds its own.
    forgetAddon();
  }
  await compileTypeScript();
  await writeDescription();
}
