import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { makeFolder } from '../files/folder';

/** Folder for what is being made, sent to or taken apart. A start removes it. */
const UNFINISHED = 'unfinished';

/** A folder for work on files of collections. */
export interface WorkFolder {
  readonly path: string;
  /** Makes a folder in it, and gives its path from the data directory. */
  readonly below: (name: string) => Promise<string>;
}

/** How the names of the folders begin in which this process works. An earlier process may have had the same number. */
const OF_THIS_PROCESS = `${process.pid}-${randomUUID()}-`;

/** Whether a folder for work is one that a process of this machine may be using: many may have the data directory (C18). */
function isOfRunningProcess(name: string): boolean {
  const pid = Number(/^(\d{1,10})-/.exec(name)?.[1]);
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  if (pid === process.pid) return name.startsWith(OF_THIS_PROCESS);
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The folders for work below a folder of a data directory. */
export class WorkFolders {
  readonly #folder: string;

  constructor(
    private readonly dataDir: string,
    root: string,
  ) {
    this.#folder = join(root, UNFINISHED);
  }

  /** Removes what processes that ended have left. */
  async removeUnfinished(): Promise<void> {
    for (const name of await namesIn(this.#folder)) {
      if (!isOfRunningProcess(name)) await rm(join(this.#folder, name), { recursive: true, force: true });
    }
  }

  /** Runs work with a new empty folder, which is removed afterwards with all that is in it. */
  async use<T>(work: (folder: WorkFolder) => Promise<T>): Promise<T> {
    const path = join(this.#folder, `${OF_THIS_PROCESS}${randomUUID()}`);
    await this.removeUnfinished();
    await makeFolder(this.#folder);
    await mkdir(path, { mode: 0o700 });
    try {
      return await work({
        path,
        below: async (name) => {
          await mkdir(join(path, name), { mode: 0o700 });
          return relative(this.dataDir, join(path, name)).replaceAll('\\', '/');
        },
      });
    } finally {
      await rm(path, { recursive: true, force: true });
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
