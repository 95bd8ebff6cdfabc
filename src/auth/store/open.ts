import { chmod, open, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { diskFull, explained, isDiskFull } from '../../files/explained';
import { makeFolder, syncFolder } from '../../files/folder';
import { CatalogAtRest, hasData, refuseOlder, type Catalog } from './catalog';
import type { LocalTokenStore } from './change';
import { openConnection, StoreUnavailable, type SqlKind } from './connection';
import { StoreDigest } from './digest';
import { DigestFile, emptyGeneration, isFilled, type Recorded } from './digest-file';
import { STORE_FILE } from './file';
import { MemoryStore } from './memory';
import {
  EMPTY_STORE,
  MISSING_STORE,
  NO_CHECKSUM,
  StoreDamaged,
  StoreInUse,
  StoreOfCluster,
  type TokenStore,
} from './port';
import type { OpenedFile } from './opening';
import { SqlStore } from './sql-store';

export { projectFolder, StoreUnavailable } from './connection';

/** The kinds of store that a setting can name. */
export type StoreKind = TokenStore['kind'];

/** The store's file in a data directory. */
export function storePath(dataDir: string): string {
  return join(dataDir, STORE_FILE);
}

/** Whether a data directory has a store already. */
export async function storeExists(dataDir: string): Promise<boolean> {
  return (await sizeOf(storePath(dataDir))) !== undefined;
}

/** Whether the store of a data directory is missing or has no bytes. */
export async function isEmpty(dataDir: string): Promise<boolean> {
  return ((await sizeOf(storePath(dataDir))) ?? 0) === 0;
}

/** The bytes of a file; undefined where there is none. */
async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Who opens a store, and what gets to know what an operator should. */
export interface StoreOpening {
  /** Whether it is opened for a node of a cluster, or to be copied: only then may it belong to one. */
  readonly isOfCluster?: boolean;
  /** A data directory that is accessible to others, or has data and no store, or a store that is not used. */
  readonly warn?: (warning: string) => void;
  /** What is found damaged while the store is open. */
  readonly onFault?: (fault: StoreDamaged) => void;
  /** The catalog of the engine that uses the data directory; that of its files when absent. */
  readonly catalog?: Catalog;
}

/**
 * Opens the store of a data directory, making both when they do not exist, and verifies all of it by the digest file
 * beside it. Without a kind: the first SQLite that loads. With the catalog of the engine it is compared before anything in
 * it is changed, and by {@link TokenStore.compare}.
 * @throws StoreInUse when another process has it open.
 * @throws StoreDamaged also when nothing is in it, or it is missing, and data or the digest file show that it was filled.
 * @throws StoreOfCluster
 * @throws StoreUnavailable that says why the directory cannot be used, or how to make a SQLite library load.
 */
export async function openStore(
  dataDir: string,
  kind?: StoreKind,
  {
    warn = () => undefined,
    onFault = () => undefined,
    catalog = new CatalogAtRest(dataDir),
    isOfCluster = false,
  }: StoreOpening = {},
): Promise<LocalTokenStore> {
  if (kind === 'memory') {
    if (isFilled(await usable(() => new DigestFile(dataDir).read()))) {
      warn(
        `KITHDB_TOKEN_STORE=memory: the store of authentication in ${dataDir} is not used, and whether it has authentication enabled does not count`,
      );
    }
    return new MemoryStore();
  }
  const path = storePath(dataDir);
  const { size, mayBeNew, isServed, recorded, digestFile } = await usable(() => survey(dataDir));
  if (!mayBeNew && (size ?? 0) === 0) {
    throw new StoreDamaged(path, size === 0 ? EMPTY_STORE : MISSING_STORE);
  }
  if ((size ?? 0) === 0) {
    await refuseOlder(path, emptyGeneration(recorded), catalog);
  }
  await usable(() => makePrivate(dataDir, path));
  if (isServed && size === undefined && recorded.state === 'absent') {
    warn(
      `There is data in ${dataDir}, and no ${basename(path)}: authentication begins as at a first start, without the admin and the tokens of before`,
    );
    // Otherwise the next start would take a store that a kill leaves half made for a damaged one.
    await usable(() => digestFile.write(StoreDigest.empty(0)));
  }
  const rights = await openRights(dataDir);
  if (rights !== undefined) {
    warn(
      `The data directory ${dataDir} is open to other users of this machine (mode ${rights}); close it with: chmod 700 ${JSON.stringify(dataDir)}`,
    );
  }
  const file = { path, digestFile, catalog, mayBeNew, atRest: false, onFault };
  const store = await connectStore(kind, file).catch(async (error: unknown) => {
    if (size === undefined && !(error instanceof StoreInUse)) {
      await removeEmpty(path);
    }
    throw isDiskFull(error) ? new StoreUnavailable(diskFull(dataDir), { cause: error }) : error;
  });
  if (!isOfCluster) await refuseOfCluster(store, path);
  // Makes the names of the store and of SQLite's journal durable.
  await syncFolder(dataDir);
  return store;
}

/** @throws StoreOfCluster when the store belongs to a node of a cluster; then it is closed. */
async function refuseOfCluster(store: LocalTokenStore, path: string): Promise<void> {
  try {
    if ((await store.logPosition()) === undefined) return;
    throw new StoreOfCluster(path);
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** What is found of a store before SQLite opens it. */
interface Survey {
  /** Bytes; undefined where there is no file. */
  readonly size: number | undefined;
  readonly isServed: boolean;
  readonly digestFile: DigestFile;
  readonly recorded: Recorded;
  /** Whether a missing or an empty file is a store that was never filled. */
  readonly mayBeNew: boolean;
}

/** @throws StoreDamaged where the digest file is. */
async function survey(dataDir: string): Promise<Survey> {
  const digestFile = new DigestFile(dataDir);
  const recorded = await digestFile.read();
  if (recorded.state === 'damaged') {
    throw new StoreDamaged(digestFile.path, NO_CHECKSUM);
  }
  const [size, isServed] = [await sizeOf(storePath(dataDir)), await hasData(dataDir)];
  const mayBeNew = recorded.state === 'sound' ? recorded.digest.isEmpty : !isServed || size === undefined;
  return { size, isServed, digestFile, recorded, mayBeNew };
}

/**
 * Opens an existing store to read it; it is never given a schema.
 * @throws StoreInUse when another process has it open.
 * @throws StoreDamaged also when nothing is in it.
 * @throws FormerSchema when it has to be completed before it can be read.
 * @throws StoreUnavailable as {@link openStore} does.
 */
export async function openStoreAtRest(dataDir: string, kind?: SqlKind): Promise<LocalTokenStore> {
  const path = storePath(dataDir);
  const { size, digestFile } = await usable(async () => {
    const file = await open(path, 'r+');
    await file.close();
    return survey(dataDir);
  });
  // SQLite would remove the journal of an empty file.
  if (size === 0) {
    throw new StoreDamaged(path, EMPTY_STORE);
  }
  const catalog = new CatalogAtRest(dataDir);
  return connectStore(kind, { path, digestFile, catalog, mayBeNew: false, atRest: true });
}

async function connectStore(kind: SqlKind | undefined, file: OpenedFile): Promise<LocalTokenStore> {
  return SqlStore.open(await openConnection(file.path, kind), file);
}

/** @throws StoreUnavailable instead of errors of the file system. */
async function usable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreDamaged) throw error;
    throw new StoreUnavailable(`The data directory cannot be used: ${explained(error)}`, { cause: error });
  }
}

/** Removes a store that was made and not filled: the next start would report it as damaged. */
async function removeEmpty(path: string): Promise<void> {
  if ((await sizeOf(path).catch(() => undefined)) === 0) {
    await rm(path, { force: true }).catch(() => undefined);
  }
}

/** Makes the file before SQLite opens it, so that it is private from the beginning; SQLite copies the rights to its journal. */
async function makePrivate(dataDir: string, path: string): Promise<void> {
  await makeFolder(dataDir);
  const file = await open(path, 'a', 0o600);
  await file.close();
  await chmod(path, 0o600);
}

/** The rights of a folder in octal when others than its owner have some. Nothing is changed: it may be shared on purpose. */
async function openRights(folder: string): Promise<string | undefined> {
  if (process.platform === 'win32') {
    return undefined;
  }
  const rights = (await stat(folder)).mode & 0o777;
  return (rights & 0o077) === 0 ? undefined : rights.toString(8);
}
