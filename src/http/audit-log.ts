import { closeSync, openSync } from 'node:fs';
import { LineWriter } from './line-writer';

/** Readable by the owner of the server alone: the lines say who did what from where. */
const MODE = 0o600;

/** A file to which a line of JSON is appended for each action. */
export class AuditLog {
  readonly #fd: number;
  readonly #lines: LineWriter;
  #isClosed = false;

  /** @throws Error when the file cannot be opened for appending. */
  constructor(path: string) {
    this.#fd = openSync(path, 'a', MODE);
    this.#lines = new LineWriter(this.#fd, (lost) => `${JSON.stringify({ time: now(), lost })}\n`);
  }

  /** Takes a line, unless it is closed. */
  readonly write = (line: object): void => {
    if (this.#isClosed) return;
    this.#lines.write(`${JSON.stringify(line)}\n`);
  };

  /** Writes what is buffered before the process ends. */
  readonly flush = (): void => {
    this.#lines.flush();
  };

  /** Writes what is buffered and closes the file. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#lines.end();
    closeSync(this.#fd);
  }
}

function now(): string {
  return new Date().toISOString();
}
