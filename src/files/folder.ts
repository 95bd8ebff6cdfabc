import { lstat, mkdir, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a private folder and its missing parents, durably; an existing folder does not change.
 *
 * Each is made separately: Node's recursive `mkdir` never returns where the system always reports a missing parent, as
 * below `/proc`.
 * @throws Error that says what exists in place of a folder.
 */
export async function makeFolder(path: string): Promise<void> {
  if (await isFolder(path)) {
    return;
  }
  const above = dirname(path);
  if (above !== path) {
    await makeFolder(above);
  }
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw error;
    }
    // Another process may have made it meanwhile.
    if (await isFolder(path)) {
      return;
    }
    const isLink = (await lstat(path)).isSymbolicLink();
    const what = isLink ? 'a link that leads to no folder' : 'something that is no folder';
    throw new Error(`${path}: ${what} stands in its place: remove it, or name another folder`, {
      cause: error,
    });
  }
  await syncFolder(above);
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** Makes the names in a folder durable, where the system can do so and this process may read the folder. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') {
    return;
  }
  try {
    const handle = await open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') {
      throw error;
    }
  }
}
