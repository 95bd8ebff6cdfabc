import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A collection of {@link FakeQdrant}: its description, and its points in the order of their ids. */
export interface FakeCollection {
  readonly info: object;
  readonly points: { readonly id: number | string; readonly [field: string]: unknown }[];
}

/** Answers reads as Qdrant 1.19 does, with envelopes that begin with the result. */
export class FakeQdrant {
  readonly requests: string[] = [];
  readonly keys = new Set<string | undefined>();
  aliases: { alias_name: string; collection_name: string }[] = [];
  private readonly server: Server;

  constructor(private readonly collections: Record<string, FakeCollection>) {
    this.server = createServer((request, response) => {
      void this.answer(request).then(({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(body));
      });
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) =>
      this.server.close(() => {
        resolve();
      }),
    );
  }

  private async answer(request: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    this.requests.push(`${request.method} ${request.url} ${text}`);
    this.keys.add(request.headers['api-key'] as string | undefined);
    const [, first, name = '', ...rest] = (request.url ?? '').split('/').map(decodeURIComponent);
    const body = (text === '' ? {} : JSON.parse(text)) as Scroll;
    if (first === '') {
      return {
        status: 200,
        body: { title: 'qdrant - vector search engine', version: '1.19.1', commit: 'c0ffee' },
      };
    }
    if (first === 'aliases') return ok({ aliases: this.aliases });
    if (name === '')
      return ok({ collections: Object.keys(this.collections).map((each) => ({ name: each })) });
    const collection = this.collections[name];
    if (collection === undefined) {
      const error = `Not found: Collection \`${name}\` doesn't exist!`;
      return { status: 404, body: { status: { error }, time: 0.001 } };
    }
    if (rest.length === 0) return ok(collection.info);
    if (rest.at(-1) === 'count') return ok({ count: collection.points.length });
    return ok(scroll(collection.points, body));
  }
}

interface Scroll {
  readonly limit?: number;
  readonly offset?: number | string;
  readonly filter?: { readonly must: readonly [{ readonly has_id: readonly unknown[] }] };
}

function scroll(points: FakeCollection['points'], { limit = 10, offset, filter }: Scroll): object {
  const wanted = filter?.must[0].has_id;
  const from = offset === undefined ? 0 : points.findIndex(({ id }) => id === offset);
  const all = points.slice(from).filter(({ id }) => wanted === undefined || wanted.includes(id));
  return { points: all.slice(0, limit), next_page_offset: all[limit]?.id ?? null };
}

function ok(result: unknown): { status: number; body: unknown } {
  return { status: 200, body: { result, status: 'ok', time: 0.000123 } };
}
