/**
 * One HTTP/1.1 keep-alive connection that sends requests made beforehand and reads whole responses. The load
 * shares the machine's cores with the server it measures, and Node's own client would cost several times as much:
 * bytes arrive in one buffer that is reused, and an answer is parsed in place.
 */
import { connect } from 'node:net';

const HEADER_END = Buffer.from('\r\n\r\n');
const FIRST_BUFFER_BYTES = 64 * 1024;

/**
 * The bytes of a request.
 *
 * @param {URL} url where the server is
 * @param {string} method
 * @param {string} path
 * @param {Uint8Array | string} body JSON unless `type` says otherwise, or an empty string
 * @param {string} token credential, or an empty string
 * @param {string} type content type of the body
 */
export function requestBytes(url, method, path, body, token, type = 'application/json') {
  const bytes = Buffer.from(body);
  const head = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${url.host}`,
    `Content-Type: ${type}`,
    `Content-Length: ${bytes.length}`,
    ...(token ? [`Authorization: Bearer ${token}`] : []),
    '',
    '',
  ].join('\r\n');
  return Buffer.concat([Buffer.from(head), bytes]);
}

/** A connection in a closed loop: one request at a time. Opened again when the server has closed it. */
export class Connection {
  #url;
  #socket = null;
  /** The bytes of the current answer that have arrived. */
  #received = Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES);
  #size = 0;
  #bodyFrom = -1;
  #end = -1;
  #status = 0;
  #closes = false;
  #pending = null;

  /** @param {URL} url */
  static async open(url) {
    const connection = new Connection(url);
    await connection.#connect();
    return connection;
  }

  constructor(url) {
    this.#url = url;
  }

  #connect() {
    return new Promise((resolve, reject) => {
      const socket = connect({
        host: this.#url.hostname.replace(/^\[|\]$/g, ''),
        port: Number(this.#url.port || 80),
        noDelay: true,
        onread: {
          buffer: Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES),
          callback: (count, buffer) => {
            this.#receive(count, buffer);
            return true;
          },
        },
      });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        const lost = (error) => {
          if (socket === this.#socket) this.#fail(error ?? new Error('the server closed the connection'));
        };
        socket.on('error', lost);
        socket.on('close', () => lost());
        this.#socket = socket;
        resolve();
      });
    });
  }

  /**
   * Sends a request and calls back with its answer, or with an error. The body is that of `answer` only during the
   * call; the next request may be sent from it.
   *
   * @param {Buffer} bytes of {@link requestBytes}
   * @param {(error: Error | null, status: number, body: Buffer) => void} done
   */
  request(bytes, done) {
    this.#pending = done;
    if (this.#socket === null) {
      this.#connect().then(
        () => this.#socket.write(bytes),
        (error) => this.#fail(error),
      );
    } else {
      this.#socket.write(bytes);
    }
  }

  /**
   * Sends a request and resolves with its answer.
   *
   * @param {Buffer} bytes of {@link requestBytes}
   * @returns {Promise<{status: number, body: Buffer}>}
   */
  send(bytes) {
    return new Promise((resolve, reject) => {
      this.request(bytes, (error, status, body) => {
        if (error) reject(error);
        else resolve({ status, body: Buffer.from(body) });
      });
    });
  }

  close() {
    this.#pending = null;
    this.#socket?.destroy();
  }

  #fail(error) {
    const done = this.#pending;
    this.#pending = null;
    done?.(error, 0, HEADER_END);
  }

  #receive(count, buffer) {
    const size = this.#size + count;
    if (size > this.#received.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(size, 2 * this.#received.length, this.#end));
      this.#received.copy(grown, 0, 0, this.#size);
      this.#received = grown;
    }
    buffer.copy(this.#received, this.#size, 0, count);
    this.#size = size;
    if (this.#end < 0 && !this.#readHead()) return;
    if (size < this.#end) return;
    const body = this.#received.subarray(this.#bodyFrom, this.#end);
    const done = this.#pending;
    this.#size = 0;
    this.#end = -1;
    this.#pending = null;
    if (this.#closes) {
      this.#socket.destroy();
      this.#socket = null;
    }
    done?.(null, this.#status, body);
  }

  /** Reads the head once it is complete: status, length, whether the connection stays open. */
  #readHead() {
    const headEnd = this.#received.subarray(0, this.#size).indexOf(HEADER_END);
    if (headEnd < 0) return false;
    const head = this.#received.latin1Slice(0, headEnd).toLowerCase();
    const length = head.indexOf('\r\ncontent-length:');
    if (length < 0) {
      this.#fail(new Error(`an answer without Content-Length: ${head.split('\r\n')[0]}`));
      return false;
    }
    this.#status = Number(head.slice(9, 12));
    this.#bodyFrom = headEnd + HEADER_END.length;
    this.#end = this.#bodyFrom + parseInt(head.slice(length + '\r\ncontent-length:'.length), 10);
    this.#closes = head.includes('\r\nconnection: close');
    return true;
  }
}
