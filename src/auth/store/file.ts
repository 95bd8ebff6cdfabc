import { open } from 'node:fs/promises';

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
