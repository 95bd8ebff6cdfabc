import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from './folder';

/**
 * Writes a private file, durably but for its name: see `syncFolder`. With `wx` it must not be there.
 * @throws Error of the system.
 */
export async function writeSynced(path: string, text: string, flags: 'w' | 'wx' = 'w'): Promise<void> {
  const file = await open(path, flags, 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Writes a private file, or replaces one: it is there whole or as it was, and durably when it resolves. It is written as
 * `PATH.tmp`, which with `wx` must not be there.
 * @throws Error of the system.
 */
export async function replaceSynced(path: string, text: string, flags: 'w' | 'wx' = 'w'): Promise<void> {
  const unfinished = `${path}.tmp`;
  await writeSynced(unfinished, text, flags);
  await rename(unfinished, path);
  await syncFolder(dirname(path));
}
