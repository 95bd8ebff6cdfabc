import { open } from 'node:fs/promises';

/** The store's file in a data directory and in a backup. */
export const STORE_FILE = 'auth.sqlite3';
/** What SQLite keeps beside the file: the rollback journal, and the log of a store of the former schema. */
export const STORE_JOURNALS: readonly string[] = [`${STORE_FILE}-journal`, `${STORE_FILE}-wal`];
/** The files that SQLite reads as one store. */
export const STORE_FILES: readonly string[] = [STORE_FILE, ...STORE_JOURNALS];

/** Makes a new, private and empty file, which SQLite opens as an empty database. */
export async function makeEmptyFile(path: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  await file.close();
}

/** Makes the content of a file durable. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
