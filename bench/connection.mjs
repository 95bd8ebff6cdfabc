/**
 * One HTTP/1.1 keep-alive connection that sends requests made beforehand and reads whole responses. The load
 * shares the machine's cores with the server it measures, and Node's own client would cost several times as much.
 */
import { connect } from 'node:net';

const HEADER_END = Buffer.from('\r\n\r\n');

/**
 * The bytes of a request.
 *
 * @param {URL} url where the server is
 * @param {string} method
 * @param {string} path
 * @param {Buffer | string} body JSON, or an empty string
 * @param {string} token credential, or an empty string
 */
export function requestBytes(url, method, path, body, token) {
  const bytes = Buffer.from(body);
  const head = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${url.host}`,
    'Content-Type: application/json',
    `Content-Length: ${bytes.length}`,
    ...(token ? [`Authorization: Bearer ${token}`] : []),
    '',
    '',
  ].join('\r\n');
  return Buffer.concat([Buffer.from(head), bytes]);
}

/** A connection in a closed loop: one request at a time. Opened again when the server has had enough of it. */
export class Connection {
  #url;
  #socket = null;
  #received = [];
  #size = 0;
  #expected = -1;
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
      });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        const lost = (error) => {
          if (socket === this.#socket) {
            this.#pending?.reject(error ?? new Error('the server closed the connection'));
          }
        };
        socket.on('data', (chunk) => this.#receive(chunk));
        socket.on('error', lost);
        socket.on('close', () => lost());
        this.#socket = socket;
        resolve();
      });
    });
  }

  /**
   * Sends a request and resolves with its answer.
   *
   * @param {Buffer} bytes of {@link requestBytes}
   * @returns {Promise<{status: number, body: Buffer}>}
   */
  async send(bytes) {
    if (this.#socket === null) await this.#connect();
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      this.#socket.write(bytes);
    });
  }

  close() {
    this.#pending = null;
    this.#socket?.destroy();
  }

  #receive(chunk) {
    this.#received.push(chunk);
    this.#size += chunk.length;
    if (this.#expected >= 0 && this.#size < this.#expected) return;
    const all = this.#received.length === 1 ? this.#received[0] : Buffer.concat(this.#received);
    this.#received = [all];
    const headEnd = all.indexOf(HEADER_END);
    if (headEnd < 0) return;
    const head = all.toString('latin1', 0, headEnd);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head);
    if (length === null) {
      this.#pending?.reject(new Error(`an answer without Content-Length: ${head.split('\r\n')[0]}`));
      return;
    }
    this.#expected = headEnd + HEADER_END.length + Number(length[1]);
    if (this.#size < this.#expected) return;
    const { resolve } = this.#pending;
    this.#received = [];
    this.#size = 0;
    this.#expected = -1;
    this.#pending = null;
    if (/\r\nconnection: *close/i.test(head)) {
      this.#socket.destroy();
      this.#socket = null;
    }
    resolve({ status: Number(head.slice(9, 12)), body: all.subarray(headEnd + HEADER_END.length) });
  }
}
