import { write, writeSync } from 'node:fs';

/** Lines are written when so many characters have gathered, or when the oldest has waited so long. */
const GATHERED_CHARACTERS = 8 * 1024;
const GATHERED_MS = 100;
/** What cannot be written is kept up to here; lines that come then are lost. */
const MOST_CHARACTERS = 4 * 1024 * 1024;
/** How often, and with which pauses, a last write is tried again where the system has no room at the moment. */
const LAST_ATTEMPTS = 50;
const LAST_PAUSE_MS = 10;

const NOTHING = Buffer.alloc(0);

/**
 * Gathers lines and writes them in the background. It never fails and never waits: a disk that is full, or a reader
 * that reads nothing, costs lines of the log once there are too many to keep, and nothing else. What was kept is
 * written when that is possible again, and how much was lost is said.
 */
export class LineWriter {
  #gathered = '';
  /** What is left of the piece that is being written, or that could not be. */
  #piece: Buffer = NOTHING;
  #writing = false;
  #failed = false;
  /** Nobody will ever read what is written. */
  #gone = false;
  #timer: NodeJS.Timeout | undefined;
  #lost = 0;

  /** @param lossLine the line that says that so many were lost */
  constructor(
    private readonly fd: number,
    private readonly lossLine: (lines: number) => string,
  ) {}

  /** Takes a line, with its end. */
  write(line: string): void {
    if (this.#gone) {
      return;
    }
    if (this.#gathered.length + line.length > MOST_CHARACTERS) {
      this.#lost += 1;
      return;
    }
    this.#gathered += line;
    if (this.#gathered.length >= GATHERED_CHARACTERS && !this.#failed) {
      this.#start();
    } else {
      this.#startLater();
    }
  }

  /** Writes what there is before the process ends, as far as that is possible. */
  flush(): void {
    // The system writes a piece that it has begun with to its end, before the process is gone.
    let rest = Buffer.concat([this.#writing ? NOTHING : this.#piece, this.#takeGathered()]);
    this.#piece = NOTHING;
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

  #startLater(): void {
    if (this.#timer === undefined && !this.#writing) {
      this.#timer = setTimeout(() => {
        this.#start();
      }, GATHERED_MS);
      if (this.#failed) {
        // A process that has nothing else to do does not wait for a disk to have room.
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
    if (this.#piece.length === 0) {
      this.#piece = this.#takeGathered();
    }
    if (this.#piece.length === 0) {
      return;
    }
    this.#writing = true;
    write(this.fd, this.#piece, (error, written) => {
      this.#ended(error, written);
    });
  }

  #ended(error: NodeJS.ErrnoException | null, written: number): void {
    this.#writing = false;
    this.#failed = error !== null;
    if (error?.code === 'EPIPE') {
      this.#gone = true;
      this.#piece = NOTHING;
      this.#gathered = '';
      return;
    }
    this.#piece = error === null ? this.#piece.subarray(written) : this.#piece;
    if (error === null && this.#piece.length + this.#gathered.length >= GATHERED_CHARACTERS) {
      this.#start();
    } else if (this.#piece.length + this.#gathered.length > 0) {
      this.#startLater();
    }
  }

  #takeGathered(): Buffer {
    const loss = this.#lost === 0 ? '' : this.lossLine(this.#lost);
    const taken = Buffer.from(this.#gathered + loss);
    this.#gathered = '';
    this.#lost = 0;
    return taken;
  }
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
