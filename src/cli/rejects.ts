import { createWriteStream } from 'node:fs';
import type { Rejected } from '../transfer/row';
import { CommandError, type Console } from './console';
import { printable } from './table';

/** Rejected rows that are named on the terminal; all of them are in the file of --rejects. */
const NAMED_REJECTS = 10;

/** The rows that are refused. */
export class Rejects {
  count = 0;
  readonly #output;

  constructor(
    private readonly console: Console,
    path: string | undefined,
    private readonly goesOn: boolean,
  ) {
    this.#output = path === undefined ? undefined : createWriteStream(path);
  }

  /** @throws CommandError when nobody has asked for a file of them */
  add({ place, reason, text }: Rejected): void {
    if (this.#output === undefined && !this.goesOn) {
      throw new CommandError(`${place}: ${reason}\n--rejects FILE puts such rows aside and goes on`);
    }
    this.count += 1;
    if (this.count <= NAMED_REJECTS) {
      this.console.stderr.write(`kithdb: ${printable(`${place}: ${reason}`)}\n`);
    }
    this.#output?.write(`${JSON.stringify({ place, reason, text })}\n`);
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#output === undefined) resolve();
      else this.#output.end(resolve);
    });
  }
}
