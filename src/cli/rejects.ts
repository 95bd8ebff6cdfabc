import {
  closeSync,
  createReadStream,
  fstatSync,
  ftruncateSync,
  openSync,
  statSync,
  writeSync,
} from 'node:fs';
import { explained } from '../files/explained';
import { linesAtOnce, LINE_BREAK } from '../transfer/lines';
import type { Rejected } from '../transfer/row';
import { CommandError, EXIT, type Console } from './console';
import { printable } from './table';

/** Rejected rows that are named on the terminal; all of them are in the file of --rejects. */
const NAMED_REJECTS = 10;

/** @throws CommandError where the file of --rejects is one that the command reads: its rows would be lost */
export function requireOtherFile(rejects: string | undefined, read: readonly string[]): void {
  const own = rejects === undefined ? undefined : identityOf(rejects);
  const same = own === undefined ? undefined : read.find((path) => identityOf(path) === own);
  if (same !== undefined) {
    throw new CommandError(
      `--rejects ${rejects ?? ''} is the same file as ${same}, which is imported: name another one`,
      EXIT.usage,
    );
  }
}

/** What is the same for all names of a file; undefined where it is not there, or cannot be seen. */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
}

/** The rows that are refused. */
export class Rejects {
  count = 0;
  readonly #file: RejectsFile | undefined;

  /** @throws CommandError when the file cannot be written */
  constructor(
    private readonly console: Console,
    path: string | undefined,
    private readonly goesOn: boolean,
  ) {
    this.#file = path === undefined ? undefined : new RejectsFile(path);
  }

  /** Goes on with the file of a command that was interrupted and had refused so many rows. */
  async resume(count: number): Promise<void> {
    this.count = count;
    await this.#file?.resume();
  }

  /** @throws CommandError when nobody has asked for a file of them, or it cannot be written */
  add(row: Rejected): void {
    const { place, reason } = row;
    if (this.#file === undefined && !this.goesOn) {
      throw new CommandError(`${place}: ${reason}\n--rejects FILE puts such rows aside and goes on`);
    }
    this.#file?.add(row);
    this.count += 1;
    if (this.count <= NAMED_REJECTS) {
      this.console.stderr.write(`kithdb: ${printable(`${place}: ${reason}`)}\n`);
    }
  }

  /** Says that the command went through: the file has what this one refused, and nothing else. */
  finish(): void {
    this.#file?.begin();
  }

  close(): void {
    this.#file?.close();
  }
}

/**
 * The file of --rejects. It is written at once, so that the note of how far a command is never runs ahead of it. What an
 * earlier command left there stays until the first row is added, or this one went through: a command that is refused
 * changes nothing.
 */
class RejectsFile {
  readonly #file: number;
  #isBegun = false;
  /** The places that the file has already. Rows behind the note of a resumed command are refused again. */
  readonly #places = new Set<string>();

  constructor(private readonly path: string) {
    this.#file = this.#explained(() => openSync(path, 'a'));
  }

  /** Keeps what the file has, but a last line that was not written whole. */
  async resume(): Promise<void> {
    this.#isBegun = true;
    if (!fstatSync(this.#file).isFile()) return;
    let wholeLines = 0;
    let bytes = 0;
    const pieces = createReadStream(this.path);
    async function* counted(): AsyncGenerator<Buffer> {
      for await (const piece of pieces as AsyncIterable<Buffer>) {
        const last = piece.lastIndexOf(LINE_BREAK);
        if (last >= 0) wholeLines = bytes + last + 1;
        bytes += piece.length;
        yield piece;
      }
    }
    let last: string | undefined;
    for await (const lines of linesAtOnce(counted())) {
      for (const line of lines) {
        last = placeOf(line);
        if (last !== undefined) this.#places.add(last);
      }
    }
    if (wholeLines === bytes) return;
    this.#explained(() => {
      // The last line may be all there but for its end.
      if (last === undefined) ftruncateSync(this.#file, wholeLines);
      else writeSync(this.#file, '\n');
    });
  }

  /** Empties the file, once, unless it is gone on with. */
  begin(): void {
    if (this.#isBegun) return;
    this.#isBegun = true;
    if (!fstatSync(this.#file).isFile()) return;
    this.#explained(() => {
      ftruncateSync(this.#file);
    });
  }

  add({ place, reason, text }: Rejected): void {
    this.begin();
    if (this.#places.has(place)) return;
    const line = Buffer.from(`${JSON.stringify({ place, reason, text })}\n`);
    this.#explained(() => {
      for (let at = 0; at < line.length;) at += writeSync(this.#file, line, at);
    });
  }

  close(): void {
    closeSync(this.#file);
  }

  #explained<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw new CommandError(explained(Object.assign(error as Error, { path: this.path })));
    }
  }
}

function placeOf(line: Buffer): string | undefined {
  try {
    const { place } = JSON.parse(line.toString()) as { readonly place?: unknown };
    return typeof place === 'string' ? place : undefined;
  } catch {
    return undefined;
  }
}
