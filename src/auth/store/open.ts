import { chmod, open, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { diskFull, explained, isDiskFull } from '../../files/explained';
import { makeFolder, syncFolder } from '../../files/folder';
import { MemoryStore } from './memory';
import { connectNodeSqlite } from './node-sqlite';
import { EMPTY_STORE, StoreDamaged, StoreInUse, type TokenStore } from './port';
import { SqlStore, type SqlConnection } from './sql-store';
import { connectSqlite3 } from './sqlite3';

/** The kinds of store that a setting can name. */
export type StoreKind = TokenStore['kind'];

type Connect = (path: string) => Promise<SqlConnection>;

const CONNECTIONS: Readonly<Record<'sqlite3' | 'node-sqlite', Connect>> = {
  sqlite3: connectSqlite3,
  'node-sqlite': connectNodeSqlite,
};

/** The store's file in a data directory. */
export function storePath(dataDir: string): string {
  return join(dataDir, 'auth.sqlite3');
}

/** Whether a data directory has a store already. */
export async function storeExists(dataDir: string): Promise<boolean> {
  return (await sizeOf(storePath(dataDir))) !== undefined;
}

/** Whether the store of a data directory is missing or has no bytes. */
export async function isEmpty(dataDir: string): Promise<boolean> {
  return ((await sizeOf(storePath(dataDir))) ?? 0) === 0;
}

/** Whether a data directory has the log, which a server makes after the store: without it no server has run on it. */
export async function hasData(dataDir: string): Promise<boolean> {
  return (await sizeOf(join(dataDir, 'log'))) !== undefined;
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

/**
 * Opens the store of a data directory, making both when they do not exist. Without a kind: the first SQLite that
 * loads. `warn` gets a warning when an existing directory is accessible to others, or has data and no store.
 * @throws StoreInUse when another process has it open.
 * @throws StoreDamaged also when nothing is in it, and there is data beside it.
 * @throws StoreUnavailable that says why the directory cannot be used, or how to make a SQLite library load.
 */
export async function openStore(
  dataDir: string,
  kind?: StoreKind,
  warn: (warning: string) => void = () => undefined,
): Promise<TokenStore> {
  if (kind === 'memory') {
    return new MemoryStore();
  }
  const path = storePath(dataDir);
  const { size, isServed } = await usable(async () => {
    const found = { size: await sizeOf(path), isServed: await hasData(dataDir) };
    if (found.size !== 0 || !found.isServed) {
      await makePrivate(dataDir, path);
    }
    return found;
  });
  if (isServed && size === 0) {
    throw new StoreDamaged(path, EMPTY_STORE);
  }
  if (isServed && size === undefined) {
    warn(
      `There is data in ${dataDir}, and no ${basename(path)}: authentication begins as at a first start, without the admin and the tokens of before`,
    );
  }
  const rights = await openRights(dataDir);
  if (rights !== undefined) {
    warn(
      `The data directory ${dataDir} is open to other users of this machine (mode ${rights}); close it with: chmod 700 ${JSON.stringify(dataDir)}`,
    );
  }
  const mayBeNew = !isServed || size === undefined;
  const store = await connectStore(path, kind, mayBeNew).catch(async (error: unknown) => {
    if (size === undefined && !(error instanceof StoreInUse)) {
      await removeEmpty(path);
    }
    throw isDiskFull(error) ? new StoreUnavailable(diskFull(dataDir), { cause: error }) : error;
  });
  // Makes the name of SQLite's log durable: without it a commit in the log would be lost.
  await syncFolder(dataDir);
  return store;
}

/**
 * Opens an existing store to read it; it is never given a schema.
 * @throws StoreInUse when another process has it open.
 * @throws StoreDamaged also when nothing is in it.
 * @throws StoreUnavailable as {@link openStore} does.
 */
export async function openStoreAtRest(
  dataDir: string,
  kind?: Exclude<StoreKind, 'memory'>,
): Promise<TokenStore> {
  const path = storePath(dataDir);
  const { size } = await usable(async () => {
    const file = await open(path, 'r+');
    try {
      return await file.stat();
    } finally {
      await file.close();
    }
  });
  // SQLite would remove the log of an empty file.
  if (size === 0) {
    throw new StoreDamaged(path, EMPTY_STORE);
  }
  return connectStore(path, kind, false);
}

async function connectStore(
  path: string,
  kind: Exclude<StoreKind, 'memory'> | undefined,
  mayBeNew: boolean,
): Promise<TokenStore> {
  return SqlStore.open(await openConnection(path, kind), path, mayBeNew);
}

/** @throws StoreUnavailable instead of errors of the file system. */
async function usable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new StoreUnavailable(`The data directory cannot be used: ${explained(error)}`, { cause: error });
  }
}

/** Removes a store that was made and not filled: the next start would report it as damaged. */
async function removeEmpty(path: string): Promise<void> {
  if ((await sizeOf(path).catch(() => undefined)) === 0) {
    await rm(path, { force: true }).catch(() => undefined);
  }
}

/**
 * A connection to a SQLite file, by the named library or the first that loads.
 * @throws StoreUnavailable that says how to make a SQLite library load when none does.
 */
export async function openConnection(
  path: string,
  kind?: Exclude<StoreKind, 'memory'>,
): Promise<SqlConnection> {
  const failures: string[] = [];
  for (const candidate of kind === undefined ? (['sqlite3', 'node-sqlite'] as const) : [kind]) {
    try {
      return await CONNECTIONS[candidate](path);
    } catch (error) {
      failures.push(`${candidate}: ${firstLine(error)}`);
    }
  }
  const project = JSON.stringify(projectFolder(__dirname));
  throw new StoreUnavailable(
    [
      `The token store could not be opened (${failures.join('; ')}).`,
      `Compile sqlite3 with: npm rebuild sqlite3 --foreground-scripts --prefix ${project}`,
      `Where npm blocks install scripts, allow it first: npm install-scripts approve sqlite3 --prefix ${project}`,
      'Or run Node.js 22.13 or newer, which has node-sqlite built in.',
    ].join('\n'),
  );
}

/** No SQLite library loads here, or the file cannot be made or opened. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** Makes the file before SQLite opens it, so that it is private from the beginning; SQLite copies the rights to its log. */
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

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n')[0] ?? text;
}

/** The folder whose `node_modules` holds sqlite3, for a file of this package that lies three folders below its root. */
export function projectFolder(from: string): string {
  const marker = `${sep}node_modules${sep}kithdb${sep}`;
  const inside = from.lastIndexOf(marker);
  return inside === -1 ? dirname(dirname(dirname(from))) : from.slice(0, inside);
}
