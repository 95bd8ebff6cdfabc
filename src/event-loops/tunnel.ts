import { Duplex } from 'node:stream';
import type { MessagePort } from 'node:worker_threads';

/** What the server at the end of a tunnel has to know of the connection that a request came on. */
export interface TunnelledConnection {
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  readonly localAddress: string | undefined;
  readonly isTls: boolean;
  /** Of the request: through the tunnel it is always 1.1. */
  readonly httpVersion: string;
}

/** Bytes; the end of this direction; or how many bytes the other end has had room for. */
type Piece = Uint8Array | 'end' | number;

/** Bytes that may be under way in one direction: as the buffer of a socket, they count as written. */
const WINDOW_BYTES = 64 * 1024;

/**
 * One end of a connection between two event loops. Beyond a window more is written when the other end has room for it, so that
 * a slow reader slows down the writer.
 */
export class Tunnel extends Duplex {
  /** As of a socket: bytes that have arrived. */
  bytesRead = 0;
  declare readonly remoteAddress?: string | undefined;
  declare readonly remotePort?: number | undefined;
  declare readonly localAddress?: string | undefined;
  /** Only there over TLS, as of a socket. */
  declare readonly encrypted?: true;
  /** Bytes that the other end has not had room for. */
  #underWay = 0;
  /** Goes on when the window has room again. */
  #written: ((error?: Error | null) => void) | undefined;
  /** Bytes that arrived when there was no room. */
  #overdue = 0;
  #hasEnded = false;
  #isCut = false;

  constructor(
    private readonly port: MessagePort,
    readonly from?: TunnelledConnection,
  ) {
    super({ allowHalfOpen: true });
    if (from !== undefined) {
      const { remoteAddress, remotePort, localAddress, isTls } = from;
      Object.assign(this, { remoteAddress, remotePort, localAddress, ...(isTls && { encrypted: true }) });
    }
    port.on('message', (piece: Piece) => {
      this.#arrived(piece);
    });
    port.on('close', () => {
      this.#isCut = true;
      // What arrived before is read first.
      if (this.#hasEnded) this.#release(new Error('the other end of the tunnel has gone'));
      else this.destroy();
    });
  }

  override _read(): void {
    if (this.#overdue > 0) {
      this.#post(this.#overdue);
      this.#overdue = 0;
    }
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#isCut) {
      done(new Error('the other end of the tunnel has gone'));
      return;
    }
    this.#underWay += chunk.length;
    // Copied, since a chunk may be a part of memory that is reused.
    const bytes = new Uint8Array(chunk);
    this.port.postMessage(bytes, [bytes.buffer]);
    if (this.#underWay < WINDOW_BYTES) done();
    else this.#written = done;
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    const buffers = chunks.map(({ chunk, encoding }) =>
      typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk,
    );
    this._write(Buffer.concat(buffers), 'buffer' as BufferEncoding, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#post('end');
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.port.close();
    this.#release();
    done(error);
  }

  /** Both directions have come to their end. */
  destroySoon(): void {
    this.end(() => this.destroy());
  }

  #arrived(piece: Piece): void {
    if (typeof piece === 'number') {
      this.#underWay -= piece;
      if (this.#underWay < WINDOW_BYTES) this.#release();
    } else if (piece === 'end') {
      this.#hasEnded = true;
      this.push(null);
    } else {
      this.bytesRead += piece.byteLength;
      if (this.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength))) {
        this.#post(piece.byteLength);
      } else {
        this.#overdue += piece.byteLength;
      }
    }
  }

  #release(error?: Error): void {
    const written = this.#written;
    this.#written = undefined;
    written?.(error);
  }

  #post(piece: Piece): void {
    this.port.postMessage(piece);
  }
}
