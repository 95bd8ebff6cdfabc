/** The packages of the documentation site, which have a lock file of their own in `site/`. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { announce, mustRun, npm } from '../build/process.mjs';
import { root } from '../build/tree.mjs';

const site = join(root, 'site');

/** Installs what the lock file says, unless it is there. */
export async function installSitePackages() {
  if (isInstalled()) return;
  const [command, leading] = npm();
  const quiet = ['--ignore-scripts', '--include=dev', '--no-audit', '--no-fund'];
  await announce('Installing the packages of the site', () =>
    mustRun('site-npm-ci', command, [...leading, 'ci', ...quiet], { cwd: site }),
  );
}

function isInstalled() {
  const record = join(site, 'node_modules', '.package-lock.json');
  if (!existsSync(record)) return false;
  const read = (path) => JSON.parse(readFileSync(path, 'utf8')).packages;
  const [installed, locked] = [read(record), read(join(site, 'package-lock.json'))];
  return Object.entries(locked).every(
    ([path, entry]) => path === '' || entry.optional || installed[path]?.version === entry.version,
  );
}

/** The generator as `[command, leading arguments]`. */
export function vitepress() {
  return [process.execPath, [join(site, 'node_modules', 'vitepress', 'bin', 'vitepress.js')]];
}
