/**
 * KITHDB_ENGINE_PACKAGE: the tarball or folder of an engine package, for a machine without Rust. Its addon takes the place
 * of one that is built here.
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
      `KITHDB_ENGINE_PACKAGE: ${path} is ${name ?? 'no package'} ${version ?? ''}, ` +
        `and this needs ${packageOf(platform)} ${wanted} with ${file}.`,
    );
  }
  mkdirSync(target, { recursive: true });
  // A process may have the present one mapped, so it is replaced and not written over.
  const next = join(target, `${file}.${process.pid}.tmp`);
  copyFileSync(join(folder, file), next);
  renameSync(next, join(target, file));
}
