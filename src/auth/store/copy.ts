import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { explained, isDiskFull } from '../../files/explained';
import { CatalogAtRest, FORMER, hasData, refuseOlder, whyOlder } from './catalog';
import { openConnection, type SqlKind } from './connection';
import { DIGEST_FILE, DigestFile, emptyGeneration, isFilled, type Recorded } from './digest-file';
import { STORE_FILES } from './file';
import {
  isEmpty,
  openStore,
  openStoreAtRest,
  storeExists,
  storePath,
  StoreUnavailable,
  type StoreKind,
} from './open';
import { EMPTY_STORE, MISSING_STORE, NO_CHECKSUM, StoreDamaged, StoreMissing, type TokenStore } from './port';
import { FormerSchema } from './opening';
import { verifyStore, type StoreProblem } from './verification';

/**
 * Copies the store of a data directory that no server has open, also where it can only be read. False when there is
 * none to copy.
 * @throws StoreInUse
 * @throws StoreDamaged
 * @throws StoreMissing when there is none, and the digest file says that there was.
 */
export async function copyStoreAtRest(dataDir: string, path: string, kind?: StoreKind): Promise<boolean> {
  if (kind === 'memory') {
    return false;
  }
  const catalog = new CatalogAtRest(dataDir);
  if (await isEmpty(dataDir)) {
    const recorded = await new DigestFile(dataDir).read();
    const isLost = await wasFilled(dataDir, recorded);
    if (isLost && (await storeExists(dataDir))) {
      throw new StoreDamaged(storePath(dataDir), EMPTY_STORE);
    }
    await refuseOlder(storePath(dataDir), emptyGeneration(recorded), catalog);
    if (!isLost) {
      return false;
    }
    throw new StoreMissing(storePath(dataDir));
  }
  try {
    return await copyFrom(openStoreAtRest(dataDir, kind), path);
  } catch (error) {
    const { code } = (
      error instanceof StoreUnavailable ? (error.cause ?? error) : error
    ) as NodeJS.ErrnoException;
    // SQLite cannot read a store with a journal where it cannot write, and one of the former schema is not completed here.
    if (code !== 'EROFS' && !(error instanceof FormerSchema)) {
      throw error;
    }
    return await besides(dataDir, (copy) =>
      copyFrom(openStore(dirname(copy), kind, { catalog, isOfCluster: true }), path),
    );
  }
}

async function copyFrom(opening: Promise<TokenStore>, path: string): Promise<boolean> {
  const store = await opening;
  try {
    return await store.copyTo(path);
  } finally {
    await store.close();
  }
}

/**
 * Runs `work` on a temporary copy of the store's file, what SQLite keeps beside it, and its digest file.
 * @throws StoreUnavailable that names the folder, where the copy cannot be made.
 */
export async function besides<T>(dataDir: string, work: (copy: string) => Promise<T>): Promise<T> {
  const path = storePath(dataDir);
  const folder = await written(path, () => mkdtemp(join(tmpdir(), 'kithdb-store-')));
  try {
    for (const name of [...STORE_FILES, DIGEST_FILE]) {
      const original = join(dataDir, name);
      if (existsSync(original)) {
        const bytes = await readFile(original);
        await written(path, () => writeFile(join(folder, name), bytes, { mode: 0o600 }));
      }
    }
    return await work(storePath(folder));
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

/** Why this user cannot read the store of a data directory or a file beside it; undefined when it can. */
export async function storeRefusal(dataDir: string): Promise<StoreRefusal | undefined> {
  for (const name of [...STORE_FILES, DIGEST_FILE]) {
    const path = join(dataDir, name);
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
 * What is wrong with the store of a data directory and with its digest file; nothing when both are sound and as new as the
 * catalog of the engine, or when no server has filled the store yet. SQLite reads a copy, so that the files do not change.
 * @throws StoreUnavailable when it cannot be checked: no room for the copy, no SQLite, a catalog that cannot be read.
 */
export async function storeProblems(dataDir: string, kind?: SqlKind): Promise<readonly StoreProblem[]> {
  try {
    const noted = await new CatalogAtRest(dataDir).generation();
    const recorded = await new DigestFile(dataDir).read();
    if (await isEmpty(dataDir)) {
      return await emptyProblems(dataDir, recorded, noted);
    }
    return await besides(dataDir, async (copy) => {
      const connection = await openConnection(copy, kind);
      try {
        const { own, problems } = await verifyStore(connection, recorded);
        // One that has no digest of itself, and nothing wrong with it, is of the former schema.
        const isSound = own !== undefined || problems.length === 0;
        const older = isSound ? whyOlder(own?.generation ?? FORMER, noted) : undefined;
        return older === undefined ? problems : [...problems, { file: 'store', what: older }];
      } catch (error) {
        throw notCopied(storePath(dataDir), error);
      } finally {
        await connection.close();
      }
    });
  } catch (error) {
    if (error instanceof StoreUnavailable) {
      throw error;
    }
    return [{ file: 'store', what: explained(error) }];
  }
}

/**
 * Whether a store that is missing or has no bytes was filled once, as the files beside it say. A store that is missing
 * together with its digest file counts as never filled: a folder that only programs have opened has neither. The generation
 * in the catalog tells the two cases apart.
 */
async function wasFilled(dataDir: string, recorded: Recorded): Promise<boolean> {
  if (recorded.state !== 'absent') return isFilled(recorded);
  return (await storeExists(dataDir)) && (await hasData(dataDir));
}

/** What is wrong where the store is missing or has no bytes. */
async function emptyProblems(
  dataDir: string,
  recorded: Recorded,
  noted: number,
): Promise<readonly StoreProblem[]> {
  const found: StoreProblem[] = [];
  if (recorded.state === 'damaged') {
    found.push({ file: 'digest', what: NO_CHECKSUM });
  }
  const exists = await storeExists(dataDir);
  const isLost = await wasFilled(dataDir, recorded);
  const older = whyOlder(emptyGeneration(recorded), noted);
  if (isLost) {
    found.push({ file: 'store', what: exists ? EMPTY_STORE : MISSING_STORE });
  } else if (older !== undefined) {
    found.push({ file: 'store', what: older });
  }
  return found;
}
