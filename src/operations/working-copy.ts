/** A data directory that is served without being changed: the engine works on a copy whose large files are links. */
import { constants } from 'node:fs';
import { chmod, copyFile, mkdir, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { STORE_JOURNALS } from '../auth/store/file';
import { lockDataDir } from '../engine/offline';
import type { CleanUp } from '../process/clean-up';
import { isFile, isWrittenOnce, listDataFiles } from './data-files';
import { makeHeldFolder, removeUnheldOf } from './held-folder';

/** Begins the names of the folders of copies, which are among those of other programs. */
const PREFIX = 'kithdb-served-copy-';
/** The copy in its folder: the engine locks it as any data directory. */
const DATA = 'data';

/**
 * Locks a data directory and makes a copy of it below the folder for temporary files: what is written later is copied, the files
 * with the data are symbolic links, where the system has them. The clean-up removes the copy and releases the directory.
 * @returns the folder of the copy
 * @throws Error where another process has the directory, or it cannot be read
 */
export async function makeWorkingCopy(dataDir: string, cleanUp: CleanUp): Promise<string> {
  const lock = lockDataDir(dataDir);
  cleanUp.add('lock of the data directory', () => {
    lock.release();
  });
  const held = await makeHeldFolder(tmpdir(), PREFIX);
  cleanUp.add('copy of the data directory', () => held.remove());
  const folder = join(held.path, DATA);
  await mkdir(folder, { mode: 0o700 });
  for (const path of [...(await listDataFiles(dataDir)), ...(await journalsIn(dataDir))]) {
    const [from, to] = [join(dataDir, path), join(folder, path)];
    await mkdir(dirname(to), { recursive: true, mode: 0o700 });
    await (isWrittenOnce(path) ? linked(from, to) : copied(from, to));
  }
  return folder;
}

/**
 * Removes the copies of processes that ended without removing theirs, as at a kill. One that a process has is locked, and stays.
 * @throws Error where there is one that cannot be removed
 */
export function removeAbandonedCopies(): Promise<void> {
  return removeUnheldOf(tmpdir(), PREFIX);
}

async function linked(from: string, to: string): Promise<void> {
  try {
    await symlink(from, to);
  } catch (error) {
    // Windows lets administrators make them alone.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
    await copied(from, to);
  }
}

/** Shares the blocks where the file system can. */
async function copied(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await chmod(to, 0o600);
}

/** What SQLite keeps beside the store of authentication after a kill. */
async function journalsIn(dataDir: string): Promise<readonly string[]> {
  const areThere = await Promise.all(STORE_JOURNALS.map((name) => isFile(join(dataDir, name))));
  return STORE_JOURNALS.filter((_, at) => areThere[at]);
}
