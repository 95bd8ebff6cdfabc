import { randomUUID } from 'node:crypto';
import { copyFile, link, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { explained } from '../../files/explained';
import { makeFolder, syncFolder } from '../../files/folder';
import { writeSynced } from '../../files/synced';
import { copyVerified, digestOf, isSame, type Digest } from '../../operations/copying';
import { CheckpointStoreError, type CheckpointStoreProblem } from './checkpoint-store';
import type { Objects, StoredObject } from './objects';

/** Folder for what is being written. */
const UNFINISHED = 'unfinished';
/** What an earlier process has left there is removed after this. */
const LEFT_MS = 24 * 60 * 60 * 1000;
/** Errors of file systems without hard links. */
const NO_LINKS: ReadonlySet<string | undefined> = new Set([
  'EPERM',
  'ENOSYS',
  'ENOTSUP',
  'EOPNOTSUPP',
  'EMLINK',
]);
/** Errors of an object that is there and cannot be read. */
const DAMAGED: ReadonlySet<string | undefined> = new Set(['EIO', 'EISDIR', 'EUCLEAN', 'EILSEQ']);

/** Objects as files below a folder, which several machines may have mounted. */
export class FolderObjects implements Objects {
  constructor(private readonly root: string) {}

  nameOf(key: string): string {
    return join(this.root, key);
  }

  create(key: string, path: string, expected: Digest): Promise<boolean> {
    return this.#guarded(key, async () => {
      const isNew = await this.#appear(key, (unfinished) => copyVerified(path, unfinished, expected));
      if (!isNew && !isSame(await digestOf(this.nameOf(key)), expected)) {
        throw new CheckpointStoreError('damaged', this.nameOf(key), 'it is not what its name says');
      }
      return isNew;
    });
  }

  createText(key: string, text: string): Promise<boolean> {
    return this.#guarded(key, () => this.#appear(key, (unfinished) => writeSynced(unfinished, text, 'wx')));
  }

  text(key: string): Promise<string> {
    return this.#guarded(key, () => readFile(this.nameOf(key), 'utf8'));
  }

  fetch(key: string, path: string, mostBytes: number): Promise<Digest> {
    return this.#guarded(key, async () => {
      const { size } = await stat(this.nameOf(key));
      if (size > mostBytes) {
        throw new CheckpointStoreError('damaged', this.nameOf(key), 'it is longer than its manifest says');
      }
      await copyFile(this.nameOf(key), path);
      const file = await open(path, 'r+');
      try {
        await file.chmod(0o600);
        await file.sync();
      } finally {
        await file.close();
      }
      return digestOf(path);
    });
  }

  digestOf(key: string): Promise<Digest> {
    return this.#guarded(key, () => digestOf(this.nameOf(key)));
  }

  list(prefix: string): Promise<readonly StoredObject[]> {
    return this.#guarded(prefix, async () => {
      const names = await unlessMissing(readdir(this.nameOf(prefix)));
      const found = (names ?? []).sort().map(async (name) => {
        const kind = await unlessMissing(stat(join(this.root, prefix, name)));
        return kind?.isFile() === true
          ? { key: `${prefix}${name}`, bytes: kind.size, modifiedMs: kind.mtimeMs }
          : undefined;
      });
      return (await Promise.all(found)).filter((one) => one !== undefined);
    });
  }

  remove(key: string): Promise<void> {
    return this.#guarded(key, async () => {
      await rm(this.nameOf(key), { force: true });
      await unlessMissing(syncFolder(dirname(this.nameOf(key))));
    });
  }

  close(): void {
    // No file stays open.
  }

  /** Lets a file appear under its name whole, unless the name is taken. */
  async #appear(key: string, write: (unfinished: string) => Promise<void>): Promise<boolean> {
    const path = this.nameOf(key);
    const unfinished = join(this.root, UNFINISHED, `${randomUUID()}-${basename(path)}`);
    await makeFolder(dirname(unfinished));
    await makeFolder(dirname(path));
    try {
      await write(unfinished);
      await this.#removeLeft(dirname(unfinished));
      const isNew = await linkNew(unfinished, path);
      await syncFolder(dirname(path));
      return isNew;
    } finally {
      await rm(unfinished, { force: true });
    }
  }

  /** Removes what processes that ended have left: what is a day older than the file that was written just now. */
  async #removeLeft(folder: string): Promise<void> {
    const files = (await readdir(folder)).map(async (name) => {
      const path = join(folder, name);
      return { path, at: (await unlessMissing(stat(path)))?.mtimeMs ?? Infinity };
    });
    const found = await Promise.all(files);
    const newest = Math.max(...found.map(({ at }) => (at === Infinity ? 0 : at)));
    for (const { path, at } of found) if (at < newest - LEFT_MS) await rm(path, { force: true });
  }

  async #guarded<T>(key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof CheckpointStoreError) throw error;
      throw new CheckpointStoreError(problemOf(error), this.nameOf(key), explained(error), { cause: error });
    }
  }
}

/** Gives a file a name that nothing has; false where something has it. */
async function linkNew(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    if (!NO_LINKS.has(code)) throw error;
    // No two writers have a name in common: each has the id of its upload in it.
    if ((await unlessMissing(stat(to))) !== undefined) return false;
    await rename(from, to);
    return true;
  }
}

function problemOf(error: unknown): CheckpointStoreProblem {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'missing';
  return DAMAGED.has(code) ? 'damaged' : 'unavailable';
}

async function unlessMissing<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
