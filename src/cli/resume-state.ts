import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { CommandError } from './console';

/** Which import a state is of. All of it has to be the same where an import goes on. */
export interface ImportIdentity {
  readonly file: string;
  readonly collection: string;
  /** The server or the data directory. */
  readonly target: string;
  readonly format: string;
  /** The flags that say what the columns are. */
  readonly columns: Readonly<Record<string, string | undefined>>;
  /** The file of the payloads, of vectors. */
  readonly payloads: string | undefined;
}

/** How far an import is. */
export interface Reached {
  /** The ordinal of the first row that may not be stored. */
  readonly next: number;
  /** How many of the rows before it were refused. */
  readonly rejected: number;
}

/** How a message names the parts of an identity that are not shown. */
const CHANGED: Readonly<Record<string, string>> = {
  file: 'the file has changed since',
  payloads: 'the payloads have changed since',
  columns: 'the columns were others',
};

/** Milliseconds between two writes of the state of an import. */
const STATE_MS = 500;

/** Which rows of a file are stored, in a file beside it, so that an interrupted import can go on. */
export class ResumeState {
  readonly path: string;
  readonly #identity: Readonly<Record<string, string>>;
  #writtenAt = -Infinity;

  constructor({ file, collection, target, format, columns, payloads }: ImportIdentity) {
    this.path = `${file}.kithdb-import`;
    this.#identity = {
      file: versionOf(file),
      collection,
      target,
      format,
      columns: JSON.stringify(columns),
      payloads: payloads === undefined ? '' : `${payloads} ${versionOf(payloads)}`,
    };
  }

  get isWritten(): boolean {
    return existsSync(this.path);
  }

  /** How far the import was; undefined where nothing is noted. @throws CommandError when the state is of something else */
  read(): Reached | undefined {
    if (!this.isWritten) return undefined;
    const { next, rejected, of } = parsed(readFileSync(this.path, 'utf8'));
    if (typeof next !== 'number' || typeof rejected !== 'number' || typeof of !== 'object' || of === null) {
      throw new CommandError(
        `${this.path} is not the state of an import: import the file without --resume, from its first row`,
      );
    }
    const before = of as Readonly<Record<string, unknown>>;
    const changes = Object.entries(this.#identity)
      .filter(([part, now]) => before[part] !== now)
      .map(([part, now]) => CHANGED[part] ?? `the ${part} was ${String(before[part])}, not ${now}`);
    if (changes.length > 0) {
      throw new CommandError(
        `${this.path} is of another import: ${changes.join('; ')}. Import the file without --resume, from its first row`,
      );
    }
    return { next, rejected };
  }

  write(reached: Reached): void {
    if (performance.now() - this.#writtenAt < STATE_MS) return;
    this.#writtenAt = performance.now();
    writeFileSync(`${this.path}.tmp`, `${JSON.stringify({ ...reached, of: this.#identity })}\n`);
    renameSync(`${this.path}.tmp`, this.path);
  }

  remove(): void {
    rmSync(this.path, { force: true });
  }
}

function versionOf(file: string): string {
  const { size, mtimeMs } = statSync(file);
  return `${size} ${mtimeMs}`;
}

function parsed(text: string): {
  readonly next?: unknown;
  readonly rejected?: unknown;
  readonly of?: unknown;
} {
  try {
    return (JSON.parse(text) ?? {}) as object;
  } catch {
    return {};
  }
}
