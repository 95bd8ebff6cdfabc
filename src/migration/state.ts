import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { SourceError } from '../transfer/row';
import type { CollectionOutcome } from './outcome';

/** How far the migration of a collection is. */
export interface Begun {
  readonly name: string;
  /** Whether it exists in the target as this migration made it. */
  readonly isCreated: boolean;
  /** What could not be taken of its configuration. */
  readonly remarks: readonly string[];
  /** The page to go on with, and how many points of the source stood before it. */
  readonly position: string | undefined;
  readonly ordinal: number;
  readonly rejected: number;
  /** Keys of points to compare. */
  readonly sample: readonly string[];
}

interface Stored {
  readonly from: string;
  readonly to: string;
  readonly done: readonly CollectionOutcome[];
  readonly begun?: Begun | undefined;
}

/** Milliseconds between two writes that only say how far a collection is. */
const WRITE_MS = 500;

/** What is migrated already, in a file, so that an interrupted migration can go on. */
export class MigrationState {
  #stored: Stored;
  #writtenAt = -Infinity;

  /** The state of a new migration. `from` and `to` identify it. */
  constructor(
    readonly path: string,
    from: string,
    to: string,
  ) {
    this.#stored = { from, to, done: [] };
  }

  /** Whether this process has noted anything that is not removed again. */
  get isNoted(): boolean {
    return this.#writtenAt > 0 && this.isWritten;
  }

  get isWritten(): boolean {
    return existsSync(this.path);
  }

  /** Takes what the file has. @throws SourceError when it is of another migration */
  resume(): void {
    if (!this.isWritten) return;
    let read: Partial<Stored>;
    try {
      read = JSON.parse(readFileSync(this.path, 'utf8')) as Partial<Stored>;
    } catch {
      throw new SourceError(`${this.path} cannot be read: it is not the state of a migration`);
    }
    const { from, to } = this.#stored;
    if (read.from !== from || read.to !== to || !Array.isArray(read.done)) {
      throw new SourceError(
        `${this.path} is of a migration from ${read.from ?? '?'} to ${read.to ?? '?'}: name another file with --state`,
      );
    }
    this.#stored = { from, to, done: read.done, begun: read.begun };
  }

  get done(): readonly CollectionOutcome[] {
    return this.#stored.done;
  }

  /** How many points were refused by what was done and begun. */
  get rejected(): number {
    const { done, begun } = this.#stored;
    return done.reduce((sum, { rejected }) => sum + rejected, begun?.rejected ?? 0);
  }

  /** What was begun and is not done of a collection. */
  begun(name: string): Begun | undefined {
    return this.#stored.begun?.name === name ? this.#stored.begun : undefined;
  }

  /** Notes how far a collection is; at once where something begins. */
  note(begun: Begun, isNew: boolean): void {
    this.#stored = { ...this.#stored, begun };
    if (isNew || performance.now() - this.#writtenAt >= WRITE_MS) this.#write();
  }

  /** Notes that a collection is done. */
  finish(outcome: CollectionOutcome): void {
    const { from, to, done } = this.#stored;
    this.#stored = { from, to, done: [...done, outcome] };
    this.#write();
  }

  /** Writes what was noted. */
  save(): void {
    this.#write();
  }

  remove(): void {
    rmSync(this.path, { force: true });
  }

  #write(): void {
    this.#writtenAt = performance.now();
    writeFileSync(`${this.path}.tmp`, `${JSON.stringify(this.#stored)}\n`);
    renameSync(`${this.path}.tmp`, this.path);
  }
}
