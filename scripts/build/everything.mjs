/** Builds what a server and its tests need, and leaves alone what is up to date. */
import {
  addonIsCurrent,
  buildAddon,
  forgetAddon,
  requireBuildableAddon,
  updateBindingTypes,
} from './addon.mjs';
import { buildConsole, consoleIsBuilt } from './console.mjs';
import { enginePackagePath, lockedEngine, lockNamesEngine, takeEnginePackage } from './engine-package.mjs';
import { requireNode } from './node-version.mjs';
import { descriptionIsWritten, writeDescription } from './openapi.mjs';
import { installPackages, packagesAreInstalled } from './packages.mjs';
import { BuildError, say } from './process.mjs';
import { prepareSqlite3, sqlite3IsPrepared } from './sqlite3.mjs';
import { compileTypeScript, typeScriptIsCompiled } from './typescript.mjs';

/**
 * Installs packages, then compiles sqlite3 beside the engine and the TypeScript: on a fresh machine both take long, and
 * neither uses all cores.
 *
 * @param {{updateTypes?: boolean, beforeCompiling?: () => Promise<void>}} [options] `updateTypes`: whether generated binding
 *   types replace the committed ones; `beforeCompiling`: runs before what takes long, and what it throws ends the build
 */
export async function buildEverything({ updateTypes = true, beforeCompiling } = {}) {
  requireNode();
  const isLocked = await takesLockedEngine();
  await installPackages();
  const given = isLocked ? lockedEngine() : enginePackagePath();
  if (!typeScriptIsCompiled() || (given === undefined && !addonIsCurrent())) await beforeCompiling?.();
  const outcomes = await Promise.allSettled([buildServer(given, updateTypes), prepareSqlite3()]);
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
}

/**
 * Whether the engine is the package that the lock file names: where none is given and this machine cannot build one.
 *
 * @throws {BuildError} where the lock file names none either, before anything is installed
 */
async function takesLockedEngine() {
  if (enginePackagePath() !== undefined) return false;
  try {
    await requireBuildableAddon();
    return false;
  } catch (error) {
    if (!(error instanceof BuildError) || !lockNamesEngine()) throw error;
    say('This machine cannot build the engine: it is taken from the package in package-lock.json.');
    return true;
  }
}

/** What {@link buildEverything} would make; empty where all is up to date. */
export function outOfDate() {
  const parts = {
    packages: packagesAreInstalled,
    engine: () => enginePackagePath() === undefined && addonIsCurrent(),
    TypeScript: typeScriptIsCompiled,
    description: descriptionIsWritten,
    console: consoleIsBuilt,
    sqlite3: sqlite3IsPrepared,
  };
  return Object.keys(parts).filter((name) => !parts[name]());
}

/** What is the same on every platform: the TypeScript, against the committed types of the engine. */
export async function buildWithoutEngine() {
  requireNode();
  await installPackages();
  await compileTypeScript();
  await writeDescription();
  await buildConsole();
}

/** The engine first: the TypeScript is compiled against the types of its exports. */
async function buildServer(given, updateTypes) {
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
  await buildConsole();
}
