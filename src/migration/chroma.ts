import { NotFoundError } from '../client/errors';
import { JsonText, parseJson } from '../client/json';
import { elementsOf, fieldsOf } from '../transfer/page';
import { SourceError } from '../transfer/row';
import { bodyOfCollection, type ChromaInfo } from './chroma-config';
import { pointOfRecord, type ChromaRecord, type RecordMapping } from './chroma-record';
import { PageSize } from './page-size';
import type { MigrationSource, SourceCollection, SourcePage, SourcePoint } from './source';
import { SourceServer } from './source-server';

/** Records and collections that are asked for at a time at most. */
const MAX_RECORDS = 1000;
const COLLECTIONS_AT_A_TIME = 100;
/** The dimensions of this many records decide about a collection whose description has none. */
const FIRST_RECORDS = 1;

/** Where the collections are, and what becomes of their records. */
export interface ChromaOptions extends RecordMapping {
  readonly tenant: string;
  readonly database: string;
}

/** A Chroma server with the second version of its API (Chroma 0.6 and later). */
export class ChromaSource implements MigrationSource {
  readonly #server: SourceServer;
  readonly #options: ChromaOptions;
  readonly #path: string;
  #infos: ReadonlyMap<string, ChromaInfo> | undefined;

  /** @throws TypeError when the URL is none of `http:` or `https:` */
  constructor(url: string, token: string | undefined, options: ChromaOptions) {
    const credential = { authorization: `Bearer ${token ?? ''}`, 'x-chroma-token': token ?? '' };
    this.#server = new SourceServer(url, token === undefined ? {} : credential);
    this.#options = options;
    const [tenant, database] = [options.tenant, options.database].map(encodeURIComponent);
    this.#path = `/api/v2/tenants/${tenant}/databases/${database}/collections`;
  }

  async describe(): Promise<string> {
    try {
      const version = await this.#server.get('/api/v2/version');
      if (typeof version === 'string') return `Chroma (API ${version})`;
    } catch (error) {
      // An earlier Chroma, or something else.
      if (!(error instanceof NotFoundError)) throw error;
    }
    throw new SourceError(
      'The server of --from does not speak the API v2 of Chroma, which Chroma 0.6 and later have',
    );
  }

  async collectionNames(): Promise<readonly string[]> {
    const infos = new Map<string, ChromaInfo>();
    for (let page: readonly ChromaInfo[] | undefined; page === undefined || page.length > 0;) {
      const query = `limit=${COLLECTIONS_AT_A_TIME}&offset=${infos.size}`;
      page = (await this.#server.get(`${this.#path}?${query}`)) as readonly ChromaInfo[];
      const before = infos.size;
      for (const info of page) infos.set(info.name, info);
      // A server that does not know the offset gives the same collections again.
      if (infos.size === before) break;
    }
    this.#infos = infos;
    return [...infos.keys()].sort();
  }

  async collection(name: string): Promise<SourceCollection> {
    if (this.#infos === undefined) await this.collectionNames();
    const info = this.#infos?.get(name);
    if (info === undefined) throw new SourceError(`There is no collection ${name} on the server of --from`);
    const path = `${this.#path}/${encodeURIComponent(info.id)}`;
    const records = new ChromaRecords(this.#server, name, path, this.#options);
    const dimension = info.dimension ?? (await records.firstDimension());
    const { body, remarks } = bodyOfCollection(info, dimension);
    return {
      name,
      points: await records.count(),
      config: this.#options.keepsIds === true ? { ...body, ids: 'string' } : body,
      indexes: [],
      remarks,
      pages: (from) => records.pages(from),
      lookUp: (keys) => records.lookUp(keys),
      count: () => records.count(),
    };
  }

  aliases(): Promise<readonly []> {
    return Promise.resolve([]);
  }

  close(): Promise<void> {
    return this.#server.close();
  }
}

/** What a server answers of records: lists of the same length. */
interface RecordsAnswer {
  readonly ids: readonly string[];
  readonly embeddings?: readonly (readonly number[] | null)[] | null;
  readonly documents?: readonly (string | null)[] | null;
  readonly uris?: readonly (string | null)[] | null;
}

/** The metadata of each record, whose values stay as they were written: `1.0` is no integer (C7). */
function metadataIn(answer: Buffer): readonly (Readonly<Record<string, unknown>> | undefined)[] {
  const given = fieldsOf(answer).get('metadatas');
  return elementsOf(given ?? Buffer.alloc(0)).map((bytes) => {
    const fields = [...fieldsOf(bytes)].map(([name, value]) => {
      return [JSON.parse(`"${name}"`) as string, new JsonText(value.toString().trim())] as const;
    });
    return fields.length === 0 ? undefined : Object.fromEntries(fields);
  });
}

/** The records of one collection. */
class ChromaRecords {
  constructor(
    private readonly server: SourceServer,
    private readonly name: string,
    private readonly path: string,
    private readonly mapping: RecordMapping,
  ) {}

  async count(): Promise<number> {
    return Number(await this.server.get(`${this.path}/count`));
  }

  /** Undefined where there is no record with an embedding. */
  async firstDimension(): Promise<number | undefined> {
    const [record] = await this.#records({ limit: FIRST_RECORDS, offset: 0 });
    return record?.embedding?.length;
  }

  async *pages(from: string | undefined): AsyncGenerator<SourcePage> {
    const size = new PageSize(MAX_RECORDS);
    for (let offset = Number(from ?? '0'); ;) {
      const records = await this.#records({ limit: size.points, offset });
      if (records.length === 0) return;
      const points = records.map((record) => this.#point(record));
      const bytes = points.reduce((sum, { json = '' }) => sum + json.length, 0);
      size.learn(points.length, bytes);
      yield { position: String(offset), points };
      offset += records.length;
    }
  }

  async lookUp(keys: readonly string[]): Promise<readonly SourcePoint[]> {
    const records = await this.#records({ ids: keys.map((key) => JSON.parse(key) as string) });
    return records.map((record) => this.#point(record));
  }

  async #records(wanted: object): Promise<readonly ChromaRecord[]> {
    const include = ['embeddings', 'documents', 'metadatas', 'uris'];
    const bytes = Buffer.from(await this.server.postForBytes(`${this.path}/get`, { ...wanted, include }));
    const answer = parseJson(bytes.toString()) as RecordsAnswer;
    if (!Array.isArray(answer.ids)) {
      throw new SourceError(`The server of --from gave no records of ${this.name}`);
    }
    const { embeddings, documents, uris } = answer;
    const metadatas = metadataIn(bytes);
    return (answer.ids as readonly string[]).map((id, at) => ({
      id,
      embedding: embeddings?.[at] ?? undefined,
      document: documents?.[at] ?? undefined,
      metadata: metadatas[at],
      uri: uris?.[at] ?? undefined,
    }));
  }

  #point(record: ChromaRecord): SourcePoint {
    const key = (): string => JSON.stringify(record.id);
    try {
      return { key, json: pointOfRecord(record, this.mapping) };
    } catch (error) {
      return { key, reason: (error as Error).message };
    }
  }
}
