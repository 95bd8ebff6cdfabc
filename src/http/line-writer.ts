import { write, writeSync } from 'node:fs';

/** Lines are written when this many characters are buffered, or when the oldest has waited this long. */
const BUFFERED_CHARACTERS = 8 * 1024;
const BUFFERED_MS = 100;
/** Lines that cannot be written are kept up to this bound; lines beyond it are lost. */
const MAX_CHARACTERS = 4 * 1024 * 1024;
/** How often the last write is retried, and with which pauses, while the system's buffer is full. */
const LAST_ATTEMPTS = 50;
const LAST_PAUSE_MS = 10;

const NOTHING = Buffer.alloc(0);

/**
 * Buffers lines and writes them in the background. It never fails and never blocks: where a disk is full or a reader does
 * not read, lines are lost once there are too many to keep. Kept lines are written when that is possible again, with a
 * line that says how many were lost.
 */
export class LineWriter {
  #buffered = '';
  /** The rest of the chunk that is being written, or whose write failed. */
  #chunk: Buffer = NOTHING;
  #writing = false;
  /** Called at the end of the write that runs. */
  #written: () => void = () => undefined;
  #failed = false;
  /** The reader has closed the pipe. */
  #gone = false;
  #timer: NodeJS.Timeout | undefined;
  #lost = 0;

  /** @param lossLine makes the line that says how many were lost */
  constructor(
    private readonly fd: number,
    private readonly lossLine: (lines: number) => string,
  ) {}

  /** Takes a line, or several, with their ends. */
  write(line: string): void {
    if (this.#gone) {
      return;
    }
    if (this.#buffered.length + line.length > MAX_CHARACTERS) {
      this.#lost += line.split('\n').length - 1;
      return;
    }
    this.#buffered += line;
    if (this.#buffered.length >= BUFFERED_CHARACTERS && !this.#failed) {
      this.#start();
    } else {
      this.#startLater();
    }
  }

  /** Writes all buffered lines before the process ends, as far as that is possible. */
  flush(): void {
    // A chunk that is being written is finished by its own write before the process ends.
    let rest = Buffer.concat([this.#writing ? NOTHING : this.#chunk, this.#takeBuffered()]);
    this.#chunk = NOTHING;
    let attempts = this.#gone ? 0 : LAST_ATTEMPTS;
    while (rest.length > 0 && attempts > 0) {
      try {
        rest = rest.subarray(writeSync(this.fd, rest));
      } catch (error) {
        attempts = (error as NodeJS.ErrnoException).code === 'EAGAIN' ? attempts - 1 : 0;
        pause(LAST_PAUSE_MS);
      }
    }
  }

  /** Writes all buffered lines, as far as that is possible, and resolves when no write runs: then the file may be closed. */
  async end(): Promise<void> {
    while (this.#writing) {
      await new Promise<void>((resolve) => {
        this.#written = resolve;
      });
    }
    this.flush();
  }

  #startLater(): void {
    if (this.#timer === undefined && !this.#writing) {
      this.#timer = setTimeout(() => {
        this.#start();
      }, BUFFERED_MS);
      if (this.#failed) {
        // The process may end while a disk is full.
        this.#timer.unref();
      }
    }
  }

  #start(): void {
    if (this.#writing) {
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#chunk.length === 0) {
      this.#chunk = this.#takeBuffered();
    }
    if (this.#chunk.length === 0) {
      return;
    }
    this.#writing = true;
    write(this.fd, this.#chunk, (error, written) => {
      this.#ended(error, written);
    });
  }

  #ended(error: NodeJS.ErrnoException | null, written: number): void {
    this.#writing = false;
    this.#written();
    this.#failed = error !== null;
    if (error?.code === 'EPIPE') {
      this.#gone = true;
      this.#chunk = NOTHING;
      this.#buffered = '';
      return;
    }
    this.#chunk = error === null ? this.#chunk.subarray(written) : this.#chunk;
    if (error === null && this.#chunk.length + this.#buffered.length >= BUFFERED_CHARACTERS) {
      this.#start();
    } else if (this.#chunk.length + this.#buffered.length > 0) {
      this.#startLater();
    }
  }

  #takeBuffered(): Buffer {
    const loss = this.#lost === 0 ? '' : this.lossLine(this.#lost);
    const taken = Buffer.from(this.#buffered + loss);
    this.#buffered = '';
    this.#lost = 0;
    return taken;
  }
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
