/** A data directory that is served without being changed: the engine works on a copy whose large files are links. */
import { constants } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { STORE_JOURNALS } from '../auth/store/file';
import { lockDataDir } from '../engine/offline';
import { isFile, isWrittenOnce, listDataFiles } from './data-files';

/** A copy, and the lock of the directory that it was made of. */
export interface WorkingCopy {
  /** A folder below that for temporary files. */
  readonly folder: string;
  /** Removes the copy and releases the directory. */
  remove(): Promise<void>;
}

/**
 * Locks a data directory and makes a copy of it: what is written later is copied, the files with the data are symbolic links,
 * where the system has them.
 * @throws Error where another process has the directory, or it cannot be read
 */
export async function makeWorkingCopy(dataDir: string): Promise<WorkingCopy> {
  const lock = lockDataDir(dataDir);
  let folder: string | undefined;
  const remove = async (): Promise<void> => {
    try {
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    } finally {
      lock.release();
    }
  };
  try {
    folder = await mkdtemp(join(tmpdir(), 'kithdb-alone-'));
    for (const path of [...(await listDataFiles(dataDir)), ...(await journalsIn(dataDir))]) {
      const [from, to] = [join(dataDir, path), join(folder, path)];
      await mkdir(dirname(to), { recursive: true, mode: 0o700 });
      await (isWrittenOnce(path) ? linked(from, to) : copied(from, to));
    }
    return { folder, remove };
  } catch (error) {
    await remove();
    throw error;
  }
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
