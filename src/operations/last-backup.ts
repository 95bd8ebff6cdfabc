import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '../files/folder';
import { writeSynced } from '../files/synced';

/** The file in a data directory that says when its last whole backup was made. It is in no backup, and nothing relies on it. */
export const LAST_BACKUP_FILE = 'last-backup';

/** When the last whole backup of a data directory was made. The caller holds the directory's lock. */
export class LastBackup {
  #finishedAt: number | undefined;
  #noting: Promise<void> = Promise.resolve();

  constructor(private readonly dataDir: string) {}

  /** In seconds since 1970; undefined where none was noted. */
  get finishedAt(): number | undefined {
    return this.#finishedAt;
  }

  /** Reads what was noted earlier. A file that is missing or damaged says nothing. */
  async read(): Promise<void> {
    try {
      const text = await readFile(join(this.dataDir, LAST_BACKUP_FILE), 'utf8');
      const { finished_at } = JSON.parse(text) as { readonly finished_at?: unknown };
      const ms = typeof finished_at === 'string' ? Date.parse(finished_at) : NaN;
      this.#finishedAt = Number.isFinite(ms) ? ms / 1000 : undefined;
    } catch {
      this.#finishedAt = undefined;
    }
  }

  /** Notes that one was made now, durably. @throws Error of the system. */
  note(): Promise<void> {
    const noted = this.#noting.then(() => this.#write(new Date()));
    this.#noting = noted.catch(() => undefined);
    return noted;
  }

  async #write(now: Date): Promise<void> {
    const path = join(this.dataDir, LAST_BACKUP_FILE);
    await writeSynced(`${path}.tmp`, `${JSON.stringify({ finished_at: now.toISOString() })}\n`);
    await rename(`${path}.tmp`, path);
    this.#finishedAt = now.getTime() / 1000;
    await syncFolder(this.dataDir);
  }
}
