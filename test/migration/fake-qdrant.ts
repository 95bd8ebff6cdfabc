import type { IncomingMessage } from 'node:http';
import { FakeServer } from './fake-server';

/** A collection of {@link FakeQdrant}: its description, and its points in the order of their ids. */
export interface FakeCollection {
  readonly info: object;
  readonly points: { readonly id: number | string; readonly [field: string]: unknown }[];
}

/** Answers reads as Qdrant 1.19 does, with envelopes that begin with the result. */
export class FakeQdrant extends FakeServer {
  readonly keys = new Set<string | undefined>();
  aliases: { alias_name: string; collection_name: string }[] = [];

  constructor(private readonly collections: Record<string, FakeCollection>) {
    super();
  }

  protected answer(request: IncomingMessage, text: string): [status: number, body: unknown] {
    this.keys.add(request.headers['api-key'] as string | undefined);
    const [, first, name = '', ...rest] = (request.url ?? '').split('/').map(decodeURIComponent);
    const body = (text === '' ? {} : JSON.parse(text)) as Scroll;
    if (first === '') {
      return [200, { title: 'qdrant - vector search engine', version: '1.19.1', commit: 'c0ffee' }];
    }
    if (first === 'aliases') return ok({ aliases: this.aliases });
    if (name === '')
      return ok({ collections: Object.keys(this.collections).map((each) => ({ name: each })) });
    const collection = this.collections[name];
    if (collection === undefined) {
      const error = `Not found: Collection \`${name}\` doesn't exist!`;
      return [404, { status: { error }, time: 0.001 }];
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

function ok(result: unknown): [status: number, body: unknown] {
  return [200, { result, status: 'ok', time: 0.000123 }];
}
