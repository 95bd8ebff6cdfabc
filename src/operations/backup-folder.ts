import { readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { explained } from '../files/explained';
import { makeFolder, syncFolder } from '../files/folder';
import { isWhole, makeBackup, type BackupOutcome } from './backup';
import { FILES, readManifest } from './backup-manifest';
import { readName, type BackupEntry, type BackupPlace, type BackupSource } from './backup-rotation';
import { BackupError } from './failure';

/** A folder of backups. One that is being made or removed has another name until that is done. */
export class BackupFolder implements BackupPlace {
  readonly #folder: string;

  constructor(
    folder: string,
    /** An earlier backup to link to. */
    private readonly base?: string,
  ) {
    this.#folder = resolve(folder);
  }

  async make(stamp: string, source: BackupSource): Promise<BackupOutcome> {
    await makeFolder(this.#folder);
    const unfinished = join(this.#folder, `${stamp}.unfinished`);
    const base = this.base === undefined ? {} : { base: this.base };
    const outcome = await makeBackup({ ...source, ...base, to: unfinished, removesPart: true });
    const to = join(this.#folder, isWhole(outcome) ? stamp : `${stamp}.damaged`);
    await rename(unfinished, to).catch(async (error: unknown) => {
      await rm(unfinished, { recursive: true, force: true });
      throw error;
    });
    await syncFolder(this.#folder);
    return { ...outcome, to };
  }

  async entries(): Promise<readonly BackupEntry[]> {
    const entries: BackupEntry[] = [];
    for (const name of await this.#names()) {
      const known = readName(name);
      if (known === undefined) {
        continue;
      }
      const { stamp, suffix } = known;
      if (suffix === '.removing') {
        await this.#removeAll(name);
      } else if (suffix === '.unfinished') {
        entries.push({ name, stamp, state: 'unfinished' });
      } else {
        const isSound = suffix === undefined && (await isComplete(join(this.#folder, name)));
        entries.push({ name, stamp, state: isSound ? 'whole' : 'damaged' });
      }
    }
    return entries;
  }

  async #names(): Promise<readonly string[]> {
    try {
      return await readdir(this.#folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw new BackupError(`${this.#folder} cannot be read: ${explained(error)}`, { cause: error });
    }
  }

  /** A kill in between leaves a name that says so, and the next run ends it. */
  async remove(name: string): Promise<void> {
    const removing = `${readName(name)?.stamp ?? name}.removing`;
    await rename(join(this.#folder, name), join(this.#folder, removing));
    await syncFolder(this.#folder);
    await this.#removeAll(removing);
  }

  #removeAll(name: string): Promise<void> {
    return rm(join(this.#folder, name), { recursive: true, force: true });
  }
}

/** Whether a backup has its manifest and every file in its length. Only a restore reads them all. */
async function isComplete(folder: string): Promise<boolean> {
  try {
    for (const { path, bytes } of (await readManifest(folder)).files) {
      if ((await stat(join(folder, FILES, path))).size !== bytes) return false;
    }
    return true;
  } catch (error) {
    if (error instanceof BackupError || (error as NodeJS.ErrnoException).code === 'ENOENT') {
      return false;
    }
    throw error;
  }
}
