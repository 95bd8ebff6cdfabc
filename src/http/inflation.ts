import { createGunzip, type Gunzip } from 'node:zlib';
import { inflatedTooLarge, malformedGzip, type Failure } from './errors';

/** How many times its size a compressed body may have (C1.12). */
export const MAX_INFLATION = 20;

/** Until it has ended, a body without an announced length may always inflate to this size: its beginning may be repetitive. */
const EARLY_BYTES = 1024 * 1024;

/** Inflated bytes that are handed over at a time. */
const PIECE_BYTES = 64 * 1024;

/** What an inflation holds besides the body: zlib's window and state, a piece of input and one of output. */
export const INFLATION_BYTES = 192 * 1024;

/** What becomes of a compressed body. */
export interface Inflated {
  /** Takes the next bytes. */
  piece(bytes: Buffer): void;
  /** The body is whole. */
  end(): void;
  fail(failure: Failure): void;
}

/**
 * Inflates the pieces of a compressed body as they arrive, on threads that are not the event loop's. It is given up as
 * soon as it is more than {@link MAX_INFLATION} times what was announced or, without a length, has arrived.
 */
export class Inflation {
  readonly #gunzip: Gunzip = createGunzip({ chunkSize: PIECE_BYTES });
  #received = 0;
  #inflated = 0;

  /** `announced` is the compressed length; undefined for a chunked body. */
  constructor(
    private readonly announced: number | undefined,
    private readonly inflated: Inflated,
  ) {
    this.#gunzip.on('data', (piece: Buffer) => {
      this.#take(piece);
    });
    this.#gunzip.on('end', () => {
      this.#finish();
    });
    this.#gunzip.on('error', () => {
      this.inflated.fail(malformedGzip());
    });
  }

  /** Inflates a piece; calls back when that is done and another one may come. */
  write(piece: Buffer, done: () => void): void {
    this.#received += piece.length;
    this.#gunzip.write(piece, done);
  }

  /** Nothing more comes. */
  end(): void {
    if (this.#received === 0) {
      this.discard();
      this.inflated.end();
    } else {
      this.#gunzip.end();
    }
  }

  /** Releases what it holds; nothing is called afterwards. */
  discard(): void {
    this.#gunzip.destroy();
  }

  #take(piece: Buffer): void {
    this.#inflated += piece.length;
    const most =
      this.announced === undefined
        ? Math.max(EARLY_BYTES, MAX_INFLATION * this.#received)
        : MAX_INFLATION * this.announced;
    if (this.#inflated > most) {
      this.inflated.fail(inflatedTooLarge(MAX_INFLATION));
    } else {
      this.inflated.piece(piece);
    }
  }

  #finish(): void {
    if (this.#gunzip.bytesWritten !== this.#received) {
      // zlib ignores what follows the last member.
      this.inflated.fail(malformedGzip());
    } else if (this.#inflated > MAX_INFLATION * this.#received) {
      this.inflated.fail(inflatedTooLarge(MAX_INFLATION));
    } else {
      this.inflated.end();
    }
  }
}
