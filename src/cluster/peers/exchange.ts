import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Answer } from '../../engine/types';
import { BadPeerRequest } from './read-headers';

const JSON_TYPE = 'application/json';

/** One request of another node, and its answer. */
export class PeerExchange {
  readonly arrivedAt = performance.now();
  readonly #gone = new AbortController();
  /** Aborted when the other node does not wait for the answer any more. */
  readonly signal: AbortSignal = this.#gone.signal;

  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    private readonly stalledAnswerMs: number,
  ) {
    response.once('close', () => {
      if (!response.writableFinished) this.#gone.abort(new Error('the other node is gone'));
    });
    // An aborted request emits an error; `close` says the same.
    request.on('error', () => undefined);
    response.on('error', () => undefined);
  }

  /**
   * Passes the body on in pieces, whose memory may be gone afterwards.
   * @throws BadPeerRequest when it does not arrive whole.
   */
  async receive(take: (piece: Buffer) => void): Promise<void> {
    try {
      for await (const piece of this.request) take(piece as Buffer);
    } catch {
      throw new BadPeerRequest(400, 'the body broke off');
    }
    // A request takes as long as it takes: only its answer has to be read in time.
    this.request.socket.setTimeout(0);
  }

  sendJson(status: number, value: object): void {
    this.send(status, Buffer.from(JSON.stringify(value)), { 'content-type': JSON_TYPE });
  }

  send(status: number, answer: Answer, headers: Readonly<Record<string, string>>): void {
    const { request, response } = this;
    if (this.signal.aborted || response.headersSent) return;
    request.socket.setTimeout(this.stalledAnswerMs);
    // A body that was not read would be taken for the next request.
    const closes = request.complete ? {} : { connection: 'close' };
    response.writeHead(status, { ...headers, ...closes, 'content-length': answer.length });
    if (typeof answer === 'string') response.end(answer, 'latin1');
    else response.end(answer);
  }
}
