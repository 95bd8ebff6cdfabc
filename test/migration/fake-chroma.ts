import type { IncomingMessage } from 'node:http';
import { FakeServer } from './fake-server';

/** One record, as {@link FakeChroma} answers it. */
export interface FakeRecord {
  readonly id: string;
  readonly embedding: readonly number[] | null;
  readonly document?: string;
  readonly metadata?: object;
  readonly uri?: string;
}

/** A collection: its description, of which `id` is its name here, and its records. */
export interface FakeChromaCollection {
  readonly info: object;
  readonly records: FakeRecord[];
}

const HNSW = {
  ef_construction: 100,
  ef_search: 100,
  max_neighbors: 16,
  resize_factor: 1.2,
  sync_threshold: 1000,
};

/** The description of a collection, as Chroma 1.5 answered it. */
export function chromaInfo(name: string, hnsw: object, more: object = {}): object {
  return {
    id: name,
    name,
    configuration_json: { hnsw: { ...HNSW, space: 'l2', ...hnsw }, spann: null, embedding_function: null },
    schema: { defaults: {}, keys: { '#document': { string: { fts_index: { enabled: true, config: {} } } } } },
    metadata: null,
    dimension: null,
    tenant: 'default_tenant',
    database: 'default_database',
    log_position: 0,
    version: 0,
    ...more,
  };
}

const PREFIX = '/api/v2/tenants/default_tenant/databases/default_database/collections';

/** Answers reads as the second version of Chroma's API does: the answers of a server of 1.5.9 were its model. */
export class FakeChroma extends FakeServer {
  readonly tokens = new Set<string | undefined>();

  constructor(private readonly collections: Record<string, FakeChromaCollection>) {
    super();
  }

  protected answer(request: IncomingMessage, text: string): [status: number, body: unknown] {
    const url = new URL(request.url ?? '', 'http://fake');
    this.tokens.add(request.headers['x-chroma-token'] as string | undefined);
    if (url.pathname === '/api/v2/version') return [200, '1.0.0'];
    if (url.pathname === PREFIX) {
      const from = Number(url.searchParams.get('offset') ?? 0);
      const limit = Number(url.searchParams.get('limit') ?? 100);
      return [
        200,
        Object.values(this.collections)
          .slice(from, from + limit)
          .map(({ info }) => info),
      ];
    }
    const [name = '', what] = url.pathname.slice(PREFIX.length + 1).split('/');
    const collection = this.collections[decodeURIComponent(name)];
    if (collection === undefined || !url.pathname.startsWith(PREFIX)) {
      return [404, { error: 'NotFoundError', message: `Collection [${name}] does not exist` }];
    }
    if (what === 'count') return [200, collection.records.length];
    return [200, recordsOf(collection.records, JSON.parse(text) as Get)];
  }
}

interface Get {
  readonly ids?: readonly string[];
  readonly limit?: number;
  readonly offset?: number;
  readonly include: readonly string[];
}

function recordsOf(all: readonly FakeRecord[], { ids, limit, offset = 0, include }: Get): object {
  const wanted = all.filter(({ id }) => ids?.includes(id) ?? true);
  const records = wanted.slice(offset, limit === undefined ? undefined : offset + limit);
  const list = (what: string, of: (record: FakeRecord) => unknown): unknown =>
    include.includes(what) ? records.map((record) => of(record) ?? null) : null;
  return {
    ids: records.map(({ id }) => id),
    embeddings: list('embeddings', ({ embedding }) => embedding),
    documents: list('documents', ({ document }) => document),
    uris: list('uris', ({ uri }) => uri),
    metadatas: list('metadatas', ({ metadata }) => metadata),
    include,
  };
}
