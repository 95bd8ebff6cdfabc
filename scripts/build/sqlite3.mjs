/**
 * sqlite3's own addon, compiled from the sources in its package. Its install script would first fetch a binary that
 * nothing verifies, so it never runs here. Compiling takes more than a minute: the result is kept in the user's cache,
 * and the next fresh clone on this machine takes seconds.
 */
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { announce, BuildError, mustRun, npm, run, say, tail } from './process.mjs';
import { isCurrent, remember, root } from './tree.mjs';

const packageDir = join(root, 'node_modules', 'sqlite3');
const addon = join('build', 'Release', 'node_sqlite3.node');

/**
 * Makes `require('sqlite3')` work, or finds that the runtime's own `node:sqlite` can be used instead.
 *
 * @throws {BuildError} when neither is to be had
 */
export async function prepareSqlite3() {
  if (sqlite3IsPrepared()) return;
  const { version, attempt } = packaged();
  const kept = keptAddon(version);
  if (existsSync(kept)) {
    await mustRun('sqlite3-unpack', 'tar', ['-xzf', kept, '-C', packageDir]);
    return;
  }
  await announce('Compiling sqlite3 (once on this machine, more than a minute)', async () => {
    // Through npm, because its settings say where the headers of Node are.
    const [command, leading] = npm();
    const { code, log } = await run('sqlite3', command, [...leading, 'run', 'rebuild'], { cwd: packageDir });
    if (code === 0 && existsSync(join(packageDir, addon))) {
      await keep(kept);
    } else if (hasNodeSqlite()) {
      say(`sqlite3 could not be compiled; tokens will be kept by node:sqlite instead (log: ${log})`);
      remember('sqlite3-unavailable', attempt);
    } else {
      throw new BuildError(
        `${tail(log)}\n\nsqlite3 could not be compiled. It needs Python 3, make and a C++ compiler ` +
          '(Debian and Ubuntu: apt install python3 make g++; macOS: xcode-select --install). ' +
          'Node 22.13 or newer needs none of them: it has SQLite built in.',
      );
    }
  });
}

/** Whether there is nothing to compile. */
export function sqlite3IsPrepared() {
  if (existsSync(join(packageDir, addon))) return true;
  if (!existsSync(packageDir)) return false;
  // A compile that failed fails again: do not spend a minute on it at every start.
  return hasNodeSqlite() && isCurrent('sqlite3-unavailable', packaged().attempt);
}

/** The version of the package, and what is remembered where it cannot be compiled. */
function packaged() {
  const { version } = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8'));
  return { version, attempt: `${version} on Node ${process.version}` };
}

/** Whether this Node has SQLite built in and usable without a flag. */
export function hasNodeSqlite() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 13);
}

/** Where the compiled addon of a version is kept: it uses Node-API, and so fits every Node of a platform and C library. */
function keptAddon(version) {
  process.report.excludeNetwork = true;
  const { glibcVersionCompiler } = process.report.getReport().header;
  const libc = process.platform === 'linux' ? (glibcVersionCompiler === undefined ? '-musl' : '-gnu') : '';
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  return join(cache, 'kithdb', `sqlite3-${version}-${process.platform}-${process.arch}${libc}.tar.gz`);
}

/** Puts the compiled addon into the cache, under a temporary name first: two clones may build at once. */
async function keep(kept) {
  mkdirSync(dirname(kept), { recursive: true, mode: 0o700 });
  const partial = `${kept}.${process.pid}.tmp`;
  const { code } = await run('sqlite3-cache', 'tar', ['-czf', partial, '-C', packageDir, addon]);
  if (code === 0) renameSync(partial, kept);
}
