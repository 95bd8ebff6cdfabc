import { createRequire } from 'node:module';
import type * as sqlite3 from 'sqlite3';
import type { SqlConnection } from './connection';

const requireModule = createRequire(__filename);

/**
 * A connection of the `sqlite3` package, loaded here and not at start: its addon may be missing.
 * @throws when the package or its addon does not load, or the file does not open.
 */
export function connectSqlite3(path: string): Promise<SqlConnection> {
  const { Database: Constructor } = requireModule('sqlite3') as typeof sqlite3;
  return new Promise((resolve, reject) => {
    const database: sqlite3.Database = new Constructor(path, (error) => {
      if (error === null) {
        resolve(connectionOf(database));
      } else {
        reject(error);
      }
    });
  });
}

function connectionOf(database: sqlite3.Database): SqlConnection {
  return {
    kind: 'sqlite3',
    script: (sql) =>
      new Promise((resolve, reject) => {
        database.exec(sql, (error) => {
          settle(error, undefined, resolve, reject);
        });
      }),
    rows: (sql, values = []) =>
      new Promise((resolve, reject) => {
        database.all<Record<string, unknown>>(sql, values, (error, rows) => {
          settle(error, rows, resolve, reject);
        });
      }),
    close: () =>
      new Promise((resolve, reject) => {
        database.close((error) => {
          settle(error, undefined, resolve, reject);
        });
      }),
  };
}

function settle<T>(
  error: Error | null,
  value: T,
  resolve: (value: T) => void,
  reject: (error: Error) => void,
): void {
  if (error === null) {
    resolve(value);
  } else {
    reject(error);
  }
}
