import { open } from 'node:fs/promises';

/** A new, private and empty file, which SQLite takes for a database without anything in it. */
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
