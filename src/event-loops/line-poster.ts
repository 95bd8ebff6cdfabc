/** Lines are handed on when this many characters are buffered, or when the oldest has waited this long. */
const BUFFERED_CHARACTERS = 8 * 1024;
const BUFFERED_MS = 20;

/** Gathers the lines of the log of one event loop, which another one writes: so the lines of all stay whole. */
export class LinePoster {
  #buffered = '';
  #timer: NodeJS.Timeout | undefined;

  /** @param post takes whole lines */
  constructor(private readonly post: (lines: string) => void) {}

  /** Takes a line, with its end. */
  write(line: string): void {
    this.#buffered += line;
    if (this.#buffered.length >= BUFFERED_CHARACTERS) {
      this.flush();
    } else {
      this.#timer ??= setTimeout(() => {
        this.flush();
      }, BUFFERED_MS);
    }
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#buffered;
    this.#buffered = '';
    if (lines !== '') this.post(lines);
  }
}
