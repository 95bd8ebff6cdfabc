/**
 * sqlite3's own addon. Its package brings no binary: its install script looks for a prebuilt one and else
 * compiles, which takes more than a minute. So the compiled addon is kept in the cache that the script
 * reads first, and the next fresh clone on this machine takes seconds.
 */
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { announce, BuildError, npm, output, run, say, tail } from './process.mjs';
import { isCurrent, remember, root } from './tree.mjs';

const packageDir = join(root, 'node_modules', 'sqlite3');
const addon = join('build', 'Release', 'node_sqlite3.node');

/** Asks prebuild-install for the name of its cache file, with the arguments that sqlite3's script gives it. */
const ASK_FOR_CACHE_PATH = `
  const { cachedPrebuild, getDownloadUrl } = require('prebuild-install/util');
  const pkg = require('./package.json');
  const settings = { ...require('prebuild-install/rc')(pkg), pkg };
  console.log(cachedPrebuild(getDownloadUrl(settings)));
`;

/**
 * Makes `require('sqlite3')` work, or finds that the runtime's own `node:sqlite` can be used instead.
 *
 * @throws {BuildError} when neither is to be had
 */
export async function prepareSqlite3() {
  if (existsSync(join(packageDir, addon))) return;
  const version = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8')).version;
  const attempt = `${version} on Node ${process.version}`;
  // A compile that failed fails again: do not spend a minute on it at every start.
  if (hasNodeSqlite() && isCurrent('sqlite3-unavailable', attempt)) return;

  const cached = await output(process.execPath, ['-e', ASK_FOR_CACHE_PATH, '--', '-r', 'napi'], {
    cwd: packageDir,
  });
  const known = cached !== null && existsSync(cached);
  const what = known ? 'Unpacking sqlite3' : 'Compiling sqlite3 (once on this machine, more than a minute)';
  await announce(what, async () => {
    const [command, leading] = npm();
    const { code, log } = await run('sqlite3', command, [
      ...leading,
      'rebuild',
      'sqlite3',
      '--ignore-scripts=false',
      '--foreground-scripts',
    ]);
    if (code === 0 && existsSync(join(packageDir, addon))) {
      if (cached !== null && !known) await keep(cached);
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

/** Whether this Node has SQLite built in and usable without a flag. */
function hasNodeSqlite() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 13);
}

/** Puts the compiled addon into the cache, under a temporary name first: two clones may build at once. */
async function keep(cached) {
  mkdirSync(dirname(cached), { recursive: true });
  const partial = `${cached}.${process.pid}.tmp`;
  const { code } = await run('sqlite3-cache', 'tar', ['-czf', partial, '-C', packageDir, addon]);
  if (code === 0) renameSync(partial, cached);
}
