import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '../../files/folder';
import { writeSynced } from '../../files/synced';
import { LaterDigest, StoreDigest } from './digest';

/** The file in a data directory that says what its store of authentication holds. */
export const DIGEST_FILE = 'auth.digest';

/** What the file says: nothing where there is none, or where it is damaged. */
export type Recorded =
  | { readonly state: 'absent' }
  | { readonly state: 'damaged' }
  | { readonly state: 'sound'; readonly digest: StoreDigest };

/** Whether the digest file says that there is a store: one that is damaged says so by being there. */
export function isFilled(recorded: Recorded): boolean {
  return recorded.state === 'damaged' || (recorded.state === 'sound' && !recorded.digest.isEmpty);
}

/** The generation of a store without rows: the first one of the store that is made then counts on from it. */
export function emptyGeneration(recorded: Recorded): number {
  return recorded.state === 'sound' && recorded.digest.isEmpty ? recorded.digest.generation : 0;
}

/**
 * The digest of the store in a file of its own. It is replaced in two steps around the commit of the store: the new
 * one is written and synced before it, where a full disk can still refuse the change, and takes the name after it.
 */
export class DigestFile {
  readonly path: string;

  constructor(private readonly folder: string) {
    this.path = join(folder, DIGEST_FILE);
  }

  get #unfinished(): string {
    return `${this.path}.tmp`;
  }

  /** @throws LaterDigest that names the file, and errors of the system. */
  async read(): Promise<Recorded> {
    let text: string;
    try {
      text = await readFile(this.path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { state: 'absent' };
      throw error;
    }
    try {
      const digest = StoreDigest.parse(text);
      return digest === undefined ? { state: 'damaged' } : { state: 'sound', digest };
    } catch (error) {
      throw error instanceof LaterDigest ? new LaterDigest(`${this.path}: ${error.message}`) : error;
    }
  }

  /** Writes the next digest beside the file, durably. */
  async prepare(digest: StoreDigest): Promise<void> {
    await writeSynced(this.#unfinished, digest.text);
  }

  /** Puts what was prepared in the place of the file, durably. */
  async publish(): Promise<void> {
    await rename(this.#unfinished, this.path);
    await syncFolder(this.folder);
  }

  /** Removes what was prepared and is not to be. */
  async discard(): Promise<void> {
    await rm(this.#unfinished, { force: true });
  }

  /** Replaces the file. */
  async write(digest: StoreDigest): Promise<void> {
    await this.prepare(digest);
    await this.publish();
  }
}
