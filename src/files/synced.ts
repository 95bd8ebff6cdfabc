import { open } from 'node:fs/promises';

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
