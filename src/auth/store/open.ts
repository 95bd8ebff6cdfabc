import { chmod, open, stat } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { diskFull, explained, isDiskFull } from '../../files/explained';
import { makeFolder, syncFolder } from '../../files/folder';
import { MemoryStore } from './memory';
import { connectNodeSqlite } from './node-sqlite';
import type { TokenStore } from './port';
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
export function storeExists(dataDir: string): Promise<boolean> {
  return exists(storePath(dataDir));
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/**
 * Opens the store of a data directory, making both when they do not exist. Without a kind: the first SQLite that
 * loads. `warn` is told when the directory was there and is open to others, or has data and no store.
 * @throws StoreInUse when another process has it open.
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
  try {
    if (!(await exists(path)) && (await exists(join(dataDir, 'log')))) {
      warn(
        `There is data in ${dataDir}, and no ${basename(path)}: authentication begins as at a first start, without the admin and the tokens of before`,
      );
    }
    await makePrivate(dataDir, path);
  } catch (error) {
    throw new StoreUnavailable(`The data directory cannot be used: ${explained(error)}`, { cause: error });
  }
  const rights = await openRights(dataDir);
  if (rights !== undefined) {
    warn(
      `The data directory ${dataDir} is open to other users of this machine (mode ${rights}); close it with: chmod 700 ${JSON.stringify(dataDir)}`,
    );
  }
  const store = await SqlStore.open(await openConnection(path, kind), path).catch((error: unknown) => {
    throw isDiskFull(error) ? new StoreUnavailable(diskFull(dataDir), { cause: error }) : error;
  });
  // A commit in a log whose name is lost would be lost with it.
  await syncFolder(dataDir);
  return store;
}

/**
 * A connection to a SQLite file, by the library that is asked for or the first that loads.
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

/** The file is made before SQLite sees it, so that it never has other rights; SQLite copies them to its log. */
async function makePrivate(dataDir: string, path: string): Promise<void> {
  await makeFolder(dataDir);
  const file = await open(path, 'a', 0o600);
  await file.close();
  await chmod(path, 0o600);
}

/** The rights of a folder in octal when others than its owner have some. It may be shared on purpose: nothing is changed. */
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
