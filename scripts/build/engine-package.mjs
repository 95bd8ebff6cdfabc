/**
 * Engines for a machine without Rust. KITHDB_ENGINE_PACKAGE is the tarball or folder of an engine package, whose addon
 * takes the place of one that is built here. Without it, a package that the lock file names is taken: npm has installed it
 * by its integrity.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { addonOf, ownPlatform, packageOf } from '../package/platforms.mjs';
import { BuildError, mustRun } from './process.mjs';
import { root } from './tree.mjs';

const nativeDir = join(root, 'native');

/** The path that the variable names, or undefined. Relative ones are of the folder that npm was called in. */
export function enginePackagePath() {
  const given = process.env.KITHDB_ENGINE_PACKAGE;
  return given ? resolve(process.env.INIT_CWD ?? '.', given) : undefined;
}

/**
 * Puts the package's addon into a folder.
 *
 * @param {string} path of a tarball or folder
 * @param {string} [target] where the loader looks for local builds
 * @throws {BuildError} when it is not the engine of this platform and version
 */
export async function takeEnginePackage(path, target = nativeDir) {
  if (!existsSync(path)) throw new BuildError(`KITHDB_ENGINE_PACKAGE: there is no ${path}.`);
  if (statSync(path).isDirectory()) {
    takeFrom(path, path, target);
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-engine-'));
  try {
    await mustRun('engine-package', 'tar', ['-xzf', path, '-C', folder]);
    takeFrom(join(folder, 'package'), path, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Whether the lock file of a clone names the engine package of this platform and version, with an integrity by which npm
 * verifies it.
 *
 * @param {string} [tree] the clone
 */
export function lockNamesEngine(tree = root) {
  const { version } = readJson(join(tree, 'package.json'));
  const locked = entryOf(join(tree, 'package-lock.json'));
  return /^sha512-/.test(locked?.integrity ?? '') && locked.version === version;
}

/**
 * The folder of the engine package that npm has installed from the lock file.
 *
 * @param {string} [tree] the clone
 * @throws {BuildError} where it is not there, or another one than was locked
 */
export function lockedEngine(tree = root) {
  const locked = entryOf(join(tree, 'package-lock.json'));
  const installed = entryOf(join(tree, 'node_modules', '.package-lock.json'));
  const folder = join(tree, ...entryName().split('/'));
  if (installed === undefined || installed.integrity !== locked?.integrity || !existsSync(folder))
    throw new BuildError(`npm has not installed ${entryName()} as package-lock.json has it: run npm ci.`);
  return folder;
}

/** What a lock file has of the engine of this platform. */
function entryOf(file) {
  return ownPlatform() === undefined ? undefined : readJson(file).packages?.[entryName()];
}

function entryName() {
  return `node_modules/${packageOf(ownPlatform())}`;
}

function readJson(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
}

function takeFrom(folder, path, target) {
  const platform = ownPlatform();
  if (platform === undefined)
    throw new BuildError(`There are no engine packages for ${process.platform}-${process.arch}.`);
  const manifestPath = join(folder, 'package.json');
  const { name, version } = existsSync(manifestPath) ? JSON.parse(readFileSync(manifestPath, 'utf8')) : {};
  const wanted = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;
  const file = addonOf(platform);
  if (name !== packageOf(platform) || version !== wanted || !existsSync(join(folder, file))) {
    throw new BuildError(
      `The engine package ${path} is ${name ?? 'no package'} ${version ?? ''}, ` +
        `and this needs ${packageOf(platform)} ${wanted} with ${file}.`,
    );
  }
  mkdirSync(target, { recursive: true });
  // A process may have the present one mapped, so it is replaced and not written over.
  const next = join(target, `${file}.${process.pid}.tmp`);
  copyFileSync(join(folder, file), next);
  renameSync(next, join(target, file));
}
