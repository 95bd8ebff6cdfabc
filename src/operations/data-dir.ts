import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { MANIFEST } from './backup-manifest';
import { AUTH_FILES, holdsUnfinishedRestore, isFile, unfinishedRestore } from './data-files';
import { explained } from '../files/explained';

/**
 * Makes sure that a folder is a data directory that a server has used.
 * @throws Error that says what it is instead, and what to do.
 */
export function requireDataDir(dataDir: string): void {
  let names: readonly string[];
  try {
    names = readdirSync(dataDir);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT'
      ? new Error('there is no such folder: is --data-dir right?')
      : new Error(explained(error));
  }
  if (names.includes(MANIFEST)) {
    throw new Error(
      'it is a backup and no data directory: `kithdb restore` makes one of it, and the files to check are in its folder data',
    );
  }
  if (!['log', 'catalog', ...AUTH_FILES].some((name) => names.includes(name))) {
    throw new Error('no server has run on it yet: is --data-dir right?');
  }
}

/**
 * Why no server may use a folder, which it would else make a data directory of: a sentence without its full stop;
 * undefined where one may.
 */
export async function whyUnusable(dataDir: string): Promise<string | undefined> {
  if (await isFile(join(dataDir, MANIFEST))) {
    return `${dataDir} is a backup and no data directory: \`kithdb restore\` makes one of it`;
  }
  return (await holdsUnfinishedRestore(dataDir)) ? unfinishedRestore(dataDir) : undefined;
}
