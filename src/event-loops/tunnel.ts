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

/** Bytes; the end of this direction; or that the other side may send more. */
type Piece = Uint8Array | 'end' | 'more';

/**
 * One end of a connection between two event loops. In each direction one chunk is under way: the next one is sent when the
 * other end has room for it, so that a slow reader slows down the writer.
 */
export class Tunnel extends Duplex {
  /** As of a socket: bytes that have arrived. */
  bytesRead = 0;
  declare readonly remoteAddress?: string | undefined;
  declare readonly remotePort?: number | undefined;
  declare readonly localAddress?: string | undefined;
  /** Only there over TLS, as of a socket. */
  declare readonly encrypted?: true;
  /** Goes on when the other end has taken the chunk that is under way. */
  #taken: ((error?: Error | null) => void) | undefined;
  /** The other end waits for the word that there is room. */
  #owesMore = false;
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
    if (this.#owesMore) {
      this.#owesMore = false;
      this.#post('more');
    }
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#isCut) {
      done(new Error('the other end of the tunnel has gone'));
      return;
    }
    this.#taken = done;
    // Copied, since a chunk may be a part of memory that is reused.
    const bytes = new Uint8Array(chunk);
    this.port.postMessage(bytes, [bytes.buffer]);
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
    if (piece === 'more') {
      this.#release();
    } else if (piece === 'end') {
      this.#hasEnded = true;
      this.push(null);
    } else {
      this.bytesRead += piece.byteLength;
      if (this.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength))) {
        this.#post('more');
      } else {
        this.#owesMore = true;
      }
    }
  }

  #release(error?: Error): void {
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.(error);
  }

  #post(piece: Piece): void {
    this.port.postMessage(piece);
  }
}
