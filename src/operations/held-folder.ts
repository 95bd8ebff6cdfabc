import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { lockDataDir, type DirectoryLock } from '../engine/offline';

/**
 * Folders for work that others may not remove: each holds a file that is locked for as long as the work takes. The system
 * drops the lock with the thread or the process that has it, so it says what a number of a process cannot: threads of one
 * process, and containers that share a directory, know of each other.
 */

/** The file, as the engine names that of any folder that it locks. */
const LOCK = 'lock';
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Somebody who removes what was left may take a new folder in the moment before it is locked. */
const TRIES = 8;

export interface HeldFolder {
  readonly path: string;
  /** Removes the folder with all that is in it. */
  remove(): Promise<void>;
}

/**
 * Makes an empty private folder in `parent`, which is there, and holds it. Its name is the prefix and a UUID.
 * @throws Error of the system, or of the lock.
 */
export async function makeHeldFolder(parent: string, prefix = ''): Promise<HeldFolder> {
  for (let tries = 1; ; tries += 1) {
    const path = newPath(parent, prefix);
    await mkdir(path, { mode: 0o700 });
    let lock: DirectoryLock | undefined;
    try {
      const held = (lock = lockDataDir(path));
      // The file is at its place: nobody has moved the folder away before it was locked.
      await lstat(join(path, LOCK));
      return { path, remove: () => remove(path, newPath(parent, prefix), held) };
    } catch (error) {
      lock?.release();
      await rm(path, { recursive: true, force: true });
      if (tries === TRIES) throw error;
    }
  }
}

/** Removes what is in `parent` and nobody holds. */
export async function removeUnheld(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const path = join(parent, name);
    const found = await lstat(path).catch(() => undefined);
    if (found?.isDirectory() === true) {
      const lock = lockUnheld(path);
      if (lock !== undefined) await remove(path, newPath(parent), lock);
    } else {
      await rm(path, { force: true });
    }
  }
}

/**
 * Removes the folders of `makeHeldFolder` with that prefix that nobody holds, in a folder that others use too: their folders, and
 * everything else in it, stay.
 * @throws the first error, when all have been tried
 */
export async function removeUnheldOf(parent: string, prefix: string): Promise<void> {
  const names = (await readdir(parent)).filter((name) => isNameOf(prefix, name));
  const removed = names.map(async (name) => {
    const path = join(parent, name);
    const lock = (await isOwnFolder(path)) ? lockUnheld(path) : undefined;
    // Somebody else may have removed it before it was locked.
    if (lock !== undefined) await remove(path, newPath(parent, prefix), lock).catch(unlessMissing);
  });
  await Promise.allSettled(removed);
  await Promise.all(removed);
}

/**
 * Makes a folder with that prefix and holds it, in a folder that others use too. Those of processes that were killed are removed
 * first: they only take room, so one that cannot be removed keeps none from being made.
 * @throws as `makeHeldFolder`
 */
export async function makeWorkFolder(parent: string, prefix: string): Promise<HeldFolder> {
  await removeUnheldOf(parent, prefix).catch(() => undefined);
  return makeHeldFolder(parent, prefix);
}

function newPath(parent: string, prefix = ''): string {
  return join(parent, prefix + randomUUID());
}

function isNameOf(prefix: string, name: string): boolean {
  return name.startsWith(prefix) && UUID.test(name.slice(prefix.length));
}

/** Whether there is a folder of this user, and no link to one. */
async function isOwnFolder(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  // Windows has no numbers of users.
  return found?.isDirectory() === true && [found.uid, undefined].includes(process.getuid?.());
}

/** Undefined for a folder that somebody holds, or that cannot be locked: it only takes room. */
function lockUnheld(path: string): DirectoryLock | undefined {
  try {
    return lockDataDir(path);
  } catch {
    return undefined;
  }
}

/**
 * Moves a locked folder away and then removes it: at its name it is whole or not there, so that nobody takes a part of
 * what is in it for all.
 */
async function remove(path: string, away: string, lock: DirectoryLock): Promise<void> {
  // Windows moves no folder with an open file. There one process has a data directory (C18), and a folder that a thread of it
  // has just locked cannot be moved.
  if (process.platform === 'win32') lock.release();
  try {
    await rename(path, away);
    // Somebody who looks for folders that nobody holds makes a new lock in it once its own is removed.
    await rm(away, { recursive: true, force: true, maxRetries: 3 });
  } finally {
    lock.release();
  }
}

function unlessMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
