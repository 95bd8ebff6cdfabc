import { mkdir, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { makeFolder } from '../files/folder';
import { noRoom } from './failure';
import { makeHeldFolder, removeUnheld, type HeldFolder } from '../operations/held-folder';

/** Folder for what is being made, sent to or taken apart: a folder each, which is held meanwhile. */
const UNFINISHED = 'unfinished';

/** A folder for work on files of collections. */
export interface WorkFolder {
  readonly path: string;
  /** Makes a folder in it, and gives its path from the data directory. */
  readonly below: (name: string) => Promise<string>;
}

/** The folders for work below a folder of a data directory. */
export class WorkFolders {
  readonly #folder: string;

  /** `roomBytes` says what the disk has left for it, for a clear error where that is nothing. */
  constructor(
    private readonly dataDir: string,
    root: string,
    private readonly roomBytes?: () => Promise<number>,
  ) {
    this.#folder = join(root, UNFINISHED);
  }

  /**
   * Removes what processes that ended have left, and nothing that any is at work on. Only the owner of the data directory
   * (C18) may call it: the locks of others are known where its own is.
   */
  async removeUnfinished(): Promise<void> {
    if ((await namesIn(this.#folder)).length > 0) await removeUnheld(this.#folder);
  }

  /** Runs work with a new empty folder, which is removed afterwards with all that is in it. */
  async use<T>(work: (folder: WorkFolder) => Promise<T>): Promise<T> {
    await makeFolder(this.#folder);
    const held = await this.#hold();
    const { path } = held;
    try {
      return await work({
        path,
        below: async (name) => {
          await mkdir(join(path, name), { mode: 0o700 });
          return relative(this.dataDir, join(path, name)).replaceAll('\\', '/');
        },
      });
    } finally {
      await held.remove();
    }
  }

  async #hold(): Promise<HeldFolder> {
    try {
      return await makeHeldFolder(this.#folder);
    } catch (error) {
      // The error of a lock that has no room has no code.
      throw (await this.roomBytes?.()) === 0 ? noRoom() : error;
    }
  }
}

/** The names in a folder; none where it is missing. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
