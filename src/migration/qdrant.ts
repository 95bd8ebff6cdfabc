import { KithError, NotFoundError } from '../client/errors';
import { encodeJson, parseJson } from '../client/json';
import { fieldsOf, splitPage } from '../transfer/page';
import { SourceError } from '../transfer/row';
import type { Alias } from './aliases';
import { PageSize } from './page-size';
import { bodyOfInfo, indexesOf, usesShardKeys, type QdrantInfo } from './qdrant-config';
import type {
  CollectionBody,
  MigrationSource,
  PayloadIndex,
  SourceCollection,
  SourcePage,
  SourcePoint,
} from './source';
import { SourceServer } from './source-server';

/** Points that are asked for at a time at most. */
const MAX_POINTS = 1000;

/** A server that speaks Qdrant's REST API: Qdrant, or KithDB. */
export class QdrantSource implements MigrationSource {
  readonly #server: SourceServer;

  /** @throws TypeError when the URL is none of `http:` or `https:` */
  constructor(url: string, token: string | undefined) {
    this.#server = new SourceServer(url, token === undefined ? {} : { 'api-key': token });
  }

  async describe(): Promise<string> {
    const root = await this.#server.get('/').catch((error: unknown) => {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    });
    const { title, version, kithdb_version: kithdb } = (root ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof title !== 'string' || typeof version !== 'string') {
      throw new SourceError('The server of --from does not speak the REST API of Qdrant');
    }
    return typeof kithdb === 'string' ? `KithDB ${kithdb}` : `Qdrant ${version}`;
  }

  async collectionNames(): Promise<readonly string[]> {
    const { result } = (await this.#server.get('/collections')) as ListAnswer;
    return result.collections.map(({ name }) => name).sort();
  }

  async collection(name: string): Promise<SourceCollection> {
    const path = `/collections/${encodeURIComponent(name)}`;
    const { result } = (await this.#server.get(path)) as { readonly result: QdrantInfo };
    return new QdrantCollection(this.#server, name, path, result, await countOf(this.#server, path));
  }

  async aliases(): Promise<readonly Alias[]> {
    try {
      const { result } = (await this.#server.get('/aliases')) as AliasesAnswer;
      return result.aliases.map(({ alias_name: alias, collection_name: collection }) => ({
        alias,
        collection,
      }));
    } catch (error) {
      // A server without aliases has none.
      if (error instanceof KithError && [404, 405, 501].includes(error.status)) return [];
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#server.close();
  }
}

interface ListAnswer {
  readonly result: { readonly collections: readonly { readonly name: string }[] };
}

interface AliasesAnswer {
  readonly result: {
    readonly aliases: readonly { readonly alias_name: string; readonly collection_name: string }[];
  };
}

async function countOf(server: SourceServer, path: string): Promise<number> {
  const answer = await server.post(`${path}/points/count`, { exact: true });
  return (answer as { readonly result: { readonly count: number } }).result.count;
}

/** A page as it came. */
interface RawPage {
  readonly points: readonly Buffer[];
  readonly nextOffset: string | undefined;
}

class QdrantCollection implements SourceCollection {
  readonly config: CollectionBody;
  readonly indexes: readonly PayloadIndex[];
  readonly remarks: readonly string[];
  readonly #hasShardKeys: boolean;

  constructor(
    private readonly server: SourceServer,
    readonly name: string,
    private readonly path: string,
    info: QdrantInfo,
    readonly points: number,
  ) {
    const { body, remarks } = bodyOfInfo(info);
    this.config = body;
    this.remarks = remarks;
    this.indexes = indexesOf(info);
    this.#hasShardKeys = usesShardKeys(info.config);
  }

  count(): Promise<number> {
    return countOf(this.server, this.path);
  }

  async *pages(from: string | undefined): AsyncGenerator<SourcePage> {
    const size = new PageSize(MAX_POINTS);
    let offset = from === undefined || from === '' ? undefined : from;
    let page = this.#page(offset, size);
    for (;;) {
      const { points, nextOffset } = await page;
      const position = offset ?? '';
      offset = nextOffset;
      // The next page is on its way while this one is stored.
      const next = offset === undefined ? undefined : this.#page(offset, size);
      next?.catch(() => undefined);
      yield { position, points: points.map((bytes) => this.#point(bytes.toString())) };
      if (next === undefined) return;
      page = next;
    }
  }

  async lookUp(keys: readonly string[]): Promise<readonly SourcePoint[]> {
    const ids = keys.map((key) => parseJson(key));
    const filter = { must: [{ has_id: ids }] };
    const page = await this.#scroll({ filter, limit: keys.length });
    return splitPage(page).points.map((bytes) => this.#point(bytes.toString()));
  }

  async #page(offset: string | undefined, size: PageSize): Promise<RawPage> {
    const from = offset === undefined ? {} : { offset: parseJson(offset) };
    const bytes = await this.#scroll({ ...from, limit: size.points });
    const page = splitPage(bytes);
    size.learn(page.points.length, bytes.length);
    return page;
  }

  async #scroll(body: object): Promise<Uint8Array> {
    try {
      return await this.server.postForBytes(`${this.path}/points/scroll`, {
        ...body,
        with_payload: true,
        with_vector: true,
      });
    } catch (error) {
      if (error instanceof NotFoundError) {
        throw new SourceError(`The collection ${this.name} has been deleted on the server of --from`);
      }
      throw error;
    }
  }

  #point(text: string): SourcePoint {
    return {
      json: this.#hasShardKeys ? withoutShardKey(text) : text,
      key: () => encodeJson((parseJson(text) as { readonly id: unknown }).id),
    };
  }
}

/** The other fields stay as they were written. */
function withoutShardKey(text: string): string {
  const fields = [...fieldsOf(Buffer.from(text))].filter(([name]) => name !== 'shard_key');
  return `{${fields.map(([name, bytes]) => `"${name}":${bytes.toString()}`).join(',')}}`;
}
