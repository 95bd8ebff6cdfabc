import { lstat, mkdir, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a private folder and those above it that are missing, durably; one that is there stays as it is.
 *
 * One after the other: Node's own way tries for ever where the system keeps denying that there is a parent, as below
 * `/proc`.
 * @throws Error that says what stands in the place of a folder.
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
    // Somebody else may have been faster.
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

/** Makes the names in a folder durable, where the system can and shows this process what is in it. */
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
