import { copyFile, mkdtemp, open, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { openConnection, openStore, storeExists, storePath, StoreUnavailable, type StoreKind } from './open';

/**
 * Copies the store of a data directory that no server has open, also where it can only be read. False when there is
 * none.
 * @throws StoreInUse
 */
export async function copyStoreAtRest(dataDir: string, path: string, kind?: StoreKind): Promise<boolean> {
  if (kind === 'memory' || !(await storeExists(dataDir))) {
    return false;
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

async function copyFrom(dataDir: string, path: string, kind: StoreKind | undefined): Promise<boolean> {
  const store = await openStore(dataDir, kind);
  try {
    return await store.copyTo(path);
  } finally {
    await store.close();
  }
}

/** Does something with a copy of the store's file and its log that is gone afterwards. */
async function besides<T>(dataDir: string, work: (copy: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'kithdb-store-'));
  try {
    const path = storePath(dataDir);
    const copy = join(folder, basename(path));
    for (const suffix of ['', '-wal']) {
      if (existsSync(path + suffix)) {
        await copyFile(path + suffix, copy + suffix);
      }
    }
    return await work(copy);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Why the store of a data directory cannot be read, and what to do: nothing is wrong with what it holds. */
export interface StoreRefusal {
  readonly what: string;
  readonly advice: string;
}

/** Why the system does not give the store of a data directory, or its log, to this user; undefined when it does. */
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
 * What SQLite finds wrong with the store of a data directory; nothing when it is sound. It looks at a copy, so that the
 * file and its log stay as they are.
 */
export async function storeProblems(dataDir: string, kind?: StoreKind): Promise<readonly string[]> {
  try {
    return await besides(dataDir, async (copy) => {
      const connection = await openConnection(copy, kind === 'memory' ? undefined : kind);
      try {
        const rows = await connection.rows('PRAGMA integrity_check(20)');
        const found = rows.map((row) => String(row['integrity_check']));
        return found.length === 1 && found[0] === 'ok' ? [] : found;
      } finally {
        await connection.close();
      }
    });
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
