import { createRequire } from 'node:module';
import type { SqlConnection, SqlValue } from './connection';

/** What is used of `node:sqlite`, which the oldest supported Node.js does not have, nor its type definitions. */
interface SqliteModule {
  readonly DatabaseSync: new (path: string) => {
    exec(sql: string): void;
    prepare(sql: string): { all(...values: readonly SqlValue[]): Record<string, unknown>[] };
    close(): void;
  };
}

const requireModule = createRequire(__filename);

/**
 * A connection of Node's own SQLite (22.13 or newer). It works on the calling thread: statements take tens of
 * microseconds, a commit the time of one fsync.
 * @throws when this Node.js has no `node:sqlite`, or the file does not open.
 */
export function connectNodeSqlite(path: string): Promise<SqlConnection> {
  const { DatabaseSync } = loadQuietly();
  const database = new DatabaseSync(path);
  return Promise.resolve({
    kind: 'node-sqlite',
    script: (sql) =>
      settled(() => {
        database.exec(sql);
      }),
    rows: (sql, values = []) => settled(() => database.prepare(sql).all(...values)),
    close: () =>
      settled(() => {
        database.close();
      }),
  });
}

/** Node.js warns of `node:sqlite` as experimental at each start; the tests of the store cover what is used of it. */
function loadQuietly(): SqliteModule {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    return requireModule('node:sqlite') as SqliteModule;
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Makes an exception of synchronous work the rejection that callers expect. */
function settled<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => {
    resolve(work());
  });
}
