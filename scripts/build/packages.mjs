/** npm's packages: installed exactly as the lock file says, and only when they are not there already. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { announce, mustRun, npm } from './process.mjs';
import { root } from './tree.mjs';

/**
 * Installs the locked packages if `node_modules` is anything else. No package's own script runs here: the
 * only one that is needed compiles sqlite3, and that runs beside the build of the engine (`sqlite3.mjs`).
 */
export async function installPackages() {
  if (packagesAreInstalled()) return;
  const [command, leading] = npm();
  await announce('Installing npm packages', () =>
    mustRun('npm-ci', command, [
      ...leading,
      'ci',
      '--ignore-scripts',
      '--include=dev',
      '--no-audit',
      '--no-fund',
    ]),
  );
}

/** Whether the tree that npm last wrote, which it records in a lock file of its own, is the locked one. */
export function packagesAreInstalled() {
  const recordPath = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(recordPath)) return false;
  const installed = JSON.parse(readFileSync(recordPath, 'utf8')).packages;
  const locked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  // A package for another platform is in the lock file only; one that is not locked is there by mistake.
  return (
    Object.entries(locked).every(
      ([path, entry]) => path === '' || entry.optional || installed[path]?.version === entry.version,
    ) && Object.entries(installed).every(([path, entry]) => locked[path]?.version === entry.version)
  );
}
