/** The source tree: where it is, and fingerprints that show whether a build product is out of date. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's root. */
export const root = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** What the build keeps for itself: logs, stamps, the Python environment. */
const buildDir = join(root, '.build');

/**
 * A digest over the names and contents of files. Contents, not times: a fresh checkout or a switched branch
 * gives every file a new time.
 *
 * @param {string[]} paths files and folders, relative to the root; absent ones count as absent
 * @param {(path: string) => boolean} [keep] which files of a folder count, by path relative to the root
 * @param {string[]} [extra] anything else the result depends on
 * @returns {string} hexadecimal SHA-256
 */
export function fingerprint(paths, keep = () => true, extra = []) {
  const hash = createHash('sha256');
  for (const path of paths.flatMap((path) => [...files(join(root, path))]).sort()) {
    const name = relative(root, path);
    if (!keep(name)) continue;
    hash.update(`${name}\0`).update(readFileSync(path)).update('\0');
  }
  for (const value of extra) hash.update(`${value}\0`);
  return hash.digest('hex');
}

function* files(path) {
  if (!existsSync(path)) return;
  if (!statSync(path).isDirectory()) {
    yield path;
    return;
  }
  for (const entry of readdirSync(path)) yield* files(join(path, entry));
}

/** Whether `name` was last built from sources with this digest. */
export function isCurrent(name, digest) {
  const path = stampPath(name);
  return existsSync(path) && readFileSync(path, 'utf8') === digest;
}

/** Records that `name` is now built from sources with this digest. */
export function remember(name, digest) {
  mkdirSync(buildDir, { recursive: true });
  writeFileSync(stampPath(name), digest);
}

/** Makes whatever `name` is now out of date. */
export function forget(name) {
  rmSync(stampPath(name), { force: true });
}

function stampPath(name) {
  return join(buildDir, `${name}.stamp`);
}
