import { sep } from 'node:path';
import { packageFolder } from '../../system/package-folder';
import { connectNodeSqlite } from './node-sqlite';
import { connectSqlite3 } from './sqlite3';
import { reasonOf } from '../../files/explained';

/** A value that is bound to a statement. */
export type SqlValue = string | number | null | Buffer;

/** A row, by the names of its columns. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** One SQLite connection, whichever library it comes from. */
export interface SqlConnection {
  readonly kind: SqlKind;
  /** Runs statements without parameters. */
  script(sql: string): Promise<void>;
  /** Runs one statement and gives its rows, those of `RETURNING` included. */
  rows(sql: string, values?: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  close(): Promise<void>;
}

/** The libraries that read and write the store's file. */
export type SqlKind = 'sqlite3' | 'node-sqlite';

const CONNECTIONS: Readonly<Record<SqlKind, (path: string) => Promise<SqlConnection>>> = {
  sqlite3: connectSqlite3,
  'node-sqlite': connectNodeSqlite,
};

/** No SQLite library loads here, or the file cannot be made or opened. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/**
 * A connection to a SQLite file, by the named library or the first that loads.
 * @throws StoreUnavailable that says how to make a SQLite library load when none does.
 */
export async function openConnection(path: string, kind?: SqlKind): Promise<SqlConnection> {
  const failures: string[] = [];
  for (const candidate of kind === undefined ? (['sqlite3', 'node-sqlite'] as const) : [kind]) {
    try {
      return await CONNECTIONS[candidate](path);
    } catch (error) {
      failures.push(`${candidate}: ${firstLine(error)}`);
    }
  }
  const project = JSON.stringify(projectFolder(packageFolder()));
  throw new StoreUnavailable(
    [
      `The token store could not be opened (${failures.join('; ')}).`,
      'Run Node.js 22.13 or newer, which has node-sqlite built in.',
      'Or compile sqlite3, which needs Python 3, make and a C++ compiler. Its own script would fetch a binary that nothing',
      'verifies, and npm may block that script:',
      `  npm install sqlite3@6 --ignore-scripts --prefix ${project}`,
      `  npm explore sqlite3 --prefix ${project} -- npx --no node-gyp rebuild`,
    ].join('\n'),
  );
}

function firstLine(error: unknown): string {
  const text = reasonOf(error);
  return text.split('\n')[0] ?? text;
}

/** The folder whose `node_modules` holds sqlite3, for the folder of this package. */
export function projectFolder(folder: string): string {
  const installed = `${sep}node_modules${sep}kithdb`;
  return folder.endsWith(installed) ? folder.slice(0, -installed.length) : folder;
}

/** SQLITE_PERM, _NOMEM, _READONLY, _IOERR, _FULL and _CANTOPEN: errors of the system, not of the file's content. */
const SURROUNDINGS: ReadonlySet<number | undefined> = new Set([3, 7, 8, 10, 13, 14]);
const BUSY = 5;
/** SQLITE_LOCKED, _INTERRUPT, _CONSTRAINT and _MISUSE: what this code did, not what the file holds. */
const CONDUCT: ReadonlySet<number | undefined> = new Set([6, 9, 19, 21]);
const READONLY = 8;

/** The plain code of an error of SQLite, in either library: extended ones have it in their last byte. */
function primaryCode(error: unknown): number | undefined {
  const { errcode, errno, code } = error as {
    readonly errcode?: number;
    readonly errno?: number;
    readonly code?: unknown;
  };
  const number = errcode ?? (typeof code === 'string' && code.startsWith('SQLITE_') ? errno : undefined);
  return number === undefined || number < 0 ? undefined : number & 0xff;
}

/** Whether another connection has the file. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === BUSY || (error as Error).message === 'database is locked';
}

/**
 * Whether an error of SQLite is about the content of the file: that it is no database, that a page is damaged, and also
 * that a table or a column is missing, since all statements are those of a sound store.
 */
export function isDamage(error: unknown): boolean {
  // Node's own SQLite refuses to read a number that JavaScript cannot hold; no store has one.
  if ((error as NodeJS.ErrnoException).code === 'ERR_OUT_OF_RANGE') return true;
  const code = primaryCode(error);
  return code !== undefined && code !== BUSY && !SURROUNDINGS.has(code) && !CONDUCT.has(code);
}

/** Whether SQLite refuses to write to a file: of one that the system lets it write, because its header says so. */
export function isReadOnly(error: unknown): boolean {
  return primaryCode(error) === READONLY;
}
