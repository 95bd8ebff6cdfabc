import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One call of the embeddings API. */
export interface FakeCall {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly model: string;
  readonly input: readonly string[];
}

type Answering = (response: ServerResponse, call: FakeCall, attempt: number) => void;

/** The vector of a text: how often it has `a`, how often `b`, and its length, so that texts with the same letters are near. */
export function vectorOf(text: string): number[] {
  const count = (letter: string): number => text.split(letter).length - 1;
  return [count('a'), count('b'), text.length];
}

/** What the API answers. */
export function embeddings(input: readonly string[], vector = vectorOf): object {
  const data = input.map((text, index) => ({ object: 'embedding', index, embedding: vector(text) }));
  // The order is by index, whatever the list has.
  return {
    object: 'list',
    data: data.reverse(),
    model: 'fake',
    usage: { prompt_tokens: 1, total_tokens: 1 },
  };
}

/** An endpoint that speaks OpenAI's embeddings API, on a free port of this machine. */
export class FakeEndpoint {
  readonly calls: FakeCall[] = [];
  /** Calls that have not been answered. */
  open = 0;
  /** The most that were open at a time. */
  mostOpen = 0;
  /** Answers calls; the usual answer when undefined. */
  answer: Answering | undefined;
  readonly #server = createServer((request, response) => {
    void this.#receive(request, response);
  });

  static async start(): Promise<FakeEndpoint> {
    const endpoint = new FakeEndpoint();
    await new Promise<void>((resolve) => endpoint.#server.listen(0, '127.0.0.1', resolve));
    return endpoint;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}/v1`;
  }

  /** Every text that was asked for. */
  get texts(): readonly string[] {
    return this.calls.flatMap(({ input }) => input);
  }

  forget(): void {
    this.calls.length = 0;
    this.answer = undefined;
    this.mostOpen = 0;
  }

  stop(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => {
      this.#server.close(() => {
        resolve();
      });
    });
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.open += 1;
    this.mostOpen = Math.max(this.mostOpen, this.open);
    response.on('close', () => (this.open -= 1));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { model, input } = JSON.parse(Buffer.concat(chunks).toString()) as FakeCall;
    const call = { path: request.url ?? '', authorization: request.headers.authorization, model, input };
    this.calls.push(call);
    if (this.answer === undefined) {
      sendJson(response, 200, embeddings(input));
    } else {
      this.answer(response, call, this.calls.length);
    }
  }
}

export function sendJson(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
