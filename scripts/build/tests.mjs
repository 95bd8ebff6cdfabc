/**
 * What tests run of the engine: the addon with the switches that only tests have, the Rust tests, and the models. One
 * cargo command builds the first two under the profile `soak`, so that the engine and its dependencies are compiled once.
 */
import { copyFileSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError, mustRun, output } from './process.mjs';
import { root } from './tree.mjs';

/**
 * Which packages, features and profile each cargo command of the tests names. They must not differ: cargo compiles the
 * engine and some dependencies again for another set of features.
 */
export const TEST_BUILD = [
  ...['--workspace', '--exclude', 'kithdb-bench', '--features', 'kithdb-node/testing'],
  ...['--profile', 'soak', '--locked'],
];

/**
 * The tests of orders of threads: the engine compiled once more, with the locks of a scheduler. Of the workspace, not of the
 * engine's package alone, for which cargo would compile the dependencies again.
 */
export const MODELS_BUILD = [...TEST_BUILD, '--features', 'kithdb-engine/shuttle', '--test', 'models'];

/** Not `native/` itself: that is packed and shipped. */
const testingDir = join(root, 'native', 'testing');

/** What cargo calls the library of `crates/node` on a platform; elsewhere than here it is an ELF file. */
const LIBRARIES = { darwin: 'libkithdb_node.dylib', win32: 'kithdb_node.dll' };

/** Builds all of it. Cargo decides what is out of date. */
export async function buildTests() {
  await mustRun('build-tests', 'cargo', ['build', ...TEST_BUILD, '--lib', '--tests']);
  const library = LIBRARIES[process.platform] ?? 'libkithdb_node.so';
  mkdirSync(testingDir, { recursive: true });
  const addon = join(testingDir, `kithdb.${process.platform}-${process.arch}.node`);
  // A process may have the file mapped, so it is replaced and not written over.
  const next = `${addon}.${process.pid}.tmp`;
  copyFileSync(join(await targetDir(), 'soak', library), next);
  renameSync(next, addon);
  await mustRun('build-models', 'cargo', ['test', ...MODELS_BUILD, '--no-run']);
}

async function targetDir() {
  const metadata = await output('cargo', ['metadata', '--format-version', '1', '--no-deps', '--offline']);
  if (metadata === null) throw new BuildError('cargo does not say where it builds.');
  return JSON.parse(metadata).target_directory;
}
