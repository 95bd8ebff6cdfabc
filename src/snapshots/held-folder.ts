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
/** Somebody who removes what was left may take a new folder in the moment before it is locked. */
const TRIES = 8;

export interface HeldFolder {
  readonly path: string;
  /** Removes the folder with all that is in it. */
  remove(): Promise<void>;
}

/**
 * Makes an empty private folder in `parent`, which is there, and holds it.
 * @throws Error of the system, or of the lock.
 */
export async function makeHeldFolder(parent: string): Promise<HeldFolder> {
  for (let tries = 1; ; tries += 1) {
    const path = join(parent, randomUUID());
    await mkdir(path, { mode: 0o700 });
    let lock: DirectoryLock | undefined;
    try {
      const held = (lock = lockDataDir(path));
      // The file is at its place: nobody has moved the folder away before it was locked.
      await lstat(join(path, LOCK));
      return { path, remove: () => remove(parent, path, held) };
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
      if (lock !== undefined) await remove(parent, path, lock);
    } else {
      await rm(path, { force: true });
    }
  }
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
async function remove(parent: string, path: string, lock: DirectoryLock): Promise<void> {
  // Windows moves no folder with an open file. There one process has a data directory (C18), and a folder that a thread of it
  // has just locked cannot be moved.
  if (process.platform === 'win32') lock.release();
  try {
    const away = join(parent, randomUUID());
    await rename(path, away);
    await rm(away, { recursive: true, force: true });
  } finally {
    lock.release();
  }
}
