import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { explained, isDiskFull } from '../../files/explained';
import {
  hasData,
  isEmpty,
  openConnection,
  openStoreAtRest,
  storeExists,
  storePath,
  StoreUnavailable,
  type StoreKind,
} from './open';
import { EMPTY_STORE, StoreMissing } from './port';
import { problemsOf } from './sql-store';

/**
 * Copies the store of a data directory that no server has open, also where it can only be read. False when there is
 * none to copy.
 * @throws StoreInUse
 * @throws StoreDamaged
 * @throws StoreMissing when there is data and no store.
 */
export async function copyStoreAtRest(dataDir: string, path: string, kind?: StoreKind): Promise<boolean> {
  if (kind === 'memory') {
    return false;
  }
  if (!(await hasData(dataDir)) && (await isEmpty(dataDir))) {
    return false;
  }
  if (!(await storeExists(dataDir))) {
    throw new StoreMissing(storePath(dataDir));
  }
  try {
    return await copyFrom(dataDir, path, kind);
  } catch (error) {
    const { code } = (
      error instanceof StoreUnavailable ? (error.cause ?? error) : error
    ) as NodeJS.ErrnoException;
    if (code !== 'EROFS') {
      throw error;
    }
    // SQLite cannot read a file with a log where it cannot write.
    return await besides(dataDir, (copy) => copyFrom(dirname(copy), path, kind));
  }
}

async function copyFrom(
  dataDir: string,
  path: string,
  kind: Exclude<StoreKind, 'memory'> | undefined,
): Promise<boolean> {
  const store = await openStoreAtRest(dataDir, kind);
  try {
    return await store.copyTo(path);
  } finally {
    await store.close();
  }
}

/**
 * Runs `work` on a temporary copy of the store's file and its log.
 * @throws StoreUnavailable that names the folder, where the copy cannot be made.
 */
async function besides<T>(dataDir: string, work: (copy: string) => Promise<T>): Promise<T> {
  const path = storePath(dataDir);
  const folder = await written(path, () => mkdtemp(join(tmpdir(), 'kithdb-store-')));
  try {
    const copy = join(folder, basename(path));
    for (const suffix of ['', '-wal']) {
      if (existsSync(path + suffix)) {
        const bytes = await readFile(path + suffix);
        await written(path, () => writeFile(copy + suffix, bytes, { mode: 0o600 }));
      }
    }
    return await work(copy);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @throws StoreUnavailable in place of an error of the folder for temporary files. */
async function written<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw notCopied(path, error);
  }
}

/** The store could not be checked because it could not be copied; that says nothing about its content. */
function notCopied(path: string, error: unknown): StoreUnavailable {
  const cause = isDiskFull(error) ? `the disk of ${tmpdir()} is full` : explained(error);
  return new StoreUnavailable(
    `${basename(path)} is read as a copy, which cannot be made (${cause}): let TMPDIR name a folder with room for it`,
    { cause: error },
  );
}

/** Why the store of a data directory cannot be read, and what to do. Its content may be sound. */
export interface StoreRefusal {
  readonly what: string;
  readonly advice: string;
}

/** Why this user cannot read the store of a data directory or its log; undefined when it can. */
export async function storeRefusal(dataDir: string): Promise<StoreRefusal | undefined> {
  for (const suffix of ['', '-wal']) {
    const path = storePath(dataDir) + suffix;
    if (!existsSync(path)) {
      continue;
    }
    try {
      const file = await open(path, 'r');
      const isFolder = (await file.stat()).isDirectory();
      await file.close();
      if (isFolder) {
        const advice = 'move the folder away and put the file there, from a backup if it is nowhere else';
        return { what: `a folder stands in the place of ${basename(path)}`, advice };
      }
    } catch (error) {
      if (['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) {
        const advice =
          'let the user of the server read it: see to its owner and its mode; or check as the user of the server';
        return { what: `${basename(path)}: this user has no right to it`, advice };
      }
    }
  }
  return undefined;
}

/**
 * What is wrong with the store of a data directory; nothing when it is sound, or when no server has filled it yet.
 * SQLite reads a copy, so that the file and its log do not change.
 * @throws StoreUnavailable when it cannot be checked: no room for the copy, or no SQLite.
 */
export async function storeProblems(dataDir: string, kind?: StoreKind): Promise<readonly string[]> {
  const path = storePath(dataDir);
  if (await isEmpty(dataDir)) {
    return (await hasData(dataDir)) ? [EMPTY_STORE] : [];
  }
  try {
    return await besides(dataDir, async (copy) => {
      const connection = await openConnection(copy, kind === 'memory' ? undefined : kind);
      try {
        return await problemsOf(connection);
      } catch (error) {
        throw notCopied(path, error);
      } finally {
        await connection.close();
      }
    });
  } catch (error) {
    if (error instanceof StoreUnavailable) {
      throw error;
    }
    return [explained(error)];
  }
}
