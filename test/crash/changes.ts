import { randomUUID } from 'node:crypto';
import { NoAnswer } from './chain';

/**
 * What one client does to a collection, its clone, its snapshot, its vector names and its aliases, and what must be there
 * after a kill.
 */

export const KINDS = [
  'a clone',
  'a deletion of a clone',
  'a vector name that is added',
  'a vector name that is removed',
  'a write',
  'a write on condition of versions',
  'a write of points whose time has come',
  'a batch of aliases',
  'a recovery over a collection that is there',
  'a recovery of a collection that is not there',
  'a sync of a source',
  'the last part of a sync',
] as const;
export type Kind = (typeof KINDS)[number];

const SOURCE = '/collections/source';
const COPY = '/collections/copy';
/** Ids of the points. */
const IDS = 12;
/** The source of a sync has those below. */
const SOURCE_IDS = 8;

/**
 * The points by id: the number that a point's vectors and payload have, and whether it has a vector named `extra`.
 */
type Points = Readonly<Record<number, readonly [number: number, hasExtra: boolean]>>;

interface Held {
  readonly points: Points;
  /** Whether there is a vector name `extra`. */
  readonly hasExtra: boolean;
}

interface State {
  readonly source: Held;
  readonly copy: Held | null;
  /** The collections of the aliases. */
  readonly aliases: Readonly<Record<string, string>>;
}

/** A request, and what there is when it was applied. */
export interface Change {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  /** Its `Idempotency-Key`. */
  readonly key: string;
  readonly after: State;
  /** The part of a sync before it, which was answered. A start loses it, and then the request is a 409. */
  readonly part?: Part;
}

/** A part of a sync, and how many points are staged after it. */
interface Part {
  readonly body: unknown;
  readonly staged: number;
}

type Request = Omit<Change, 'key'>;

interface Found {
  readonly id: number;
  readonly vector: { readonly v: readonly number[]; readonly extra?: readonly number[] };
  readonly payload: { readonly n: number };
}

async function call(url: string, method: string, path: string, body?: unknown, key?: string) {
  const headers = {
    'content-type': 'application/json',
    ...(key !== undefined && { 'idempotency-key': key }),
  };
  try {
    const response = await fetch(url + path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests know what they asked for
    return { status: response.status, result: ((await response.json()) as { result?: any }).result };
  } catch (cause) {
    throw new NoAnswer(`${method} ${path}`, { cause });
  }
}

/** The points of a collection, each with the vectors that go with its id and number; null where there is none. */
async function read(url: string, path: string): Promise<Held | null> {
  const { status, result } = await call(url, 'GET', path);
  if (status === 404) return null;
  const page = await call(url, 'POST', `${path}/points/scroll`, { limit: 100, with_vector: true });
  const points = page.result.points as Found[];
  for (const { id, vector, payload } of points) {
    expect(vector.v).toEqual([payload.n, id]);
    if (vector.extra !== undefined) expect(vector.extra).toEqual([payload.n]);
  }
  const counted = await call(url, 'POST', `${path}/points/count`, {});
  expect(counted.result).toEqual({ count: points.length });
  return {
    points: Object.fromEntries(
      points.map(({ id, vector, payload }) => [id, [payload.n, vector.extra !== undefined]]),
    ),
    hasExtra: 'extra' in result.config.params.vectors,
  };
}

async function readAll(url: string): Promise<State> {
  const { result } = await call(url, 'GET', '/aliases');
  const aliases = result.aliases as { alias_name: string; collection_name: string }[];
  return {
    source: (await read(url, SOURCE))!,
    copy: await read(url, COPY),
    aliases: Object.fromEntries(aliases.map((one) => [one.alias_name, one.collection_name])),
  };
}

function randomId(): number {
  return Math.floor(Math.random() * IDS);
}

/** Sends a part of a sync that is not the last. */
async function sendPart(url: string, { body, staged }: Part): Promise<void> {
  const { status, result } = await call(url, 'PUT', `${SOURCE}/points/sync`, body);
  expect([status, result]).toEqual([200, { staged }]);
}

export class Changes {
  #known: State = { source: { points: {}, hasExtra: false }, copy: null, aliases: {} };
  #sent: Change | undefined;
  #snapshot: { readonly name: string; readonly holds: Held } | undefined;
  #number = 0;

  /** Makes the collection. */
  async create(url: string): Promise<void> {
    const body = { vectors: { v: { size: 2, distance: 'Dot' } }, expire_at_key: 'until' };
    expect((await call(url, 'PUT', SOURCE, body)).status).toBe(200);
  }

  /** A request of that kind, after others where it is not possible at the moment. */
  async next(url: string, kind: Kind): Promise<Change> {
    const { source, copy } = this.#known;
    const needsNoCopy = kind === 'a clone' || kind === 'a recovery of a collection that is not there';
    const needsCopy =
      kind === 'a deletion of a clone' || kind === 'a recovery over a collection that is there';
    if (needsNoCopy && copy !== null) await this.make(url, 'a deletion of a clone');
    if (needsCopy && copy === null) await this.make(url, 'a clone');
    if (kind === 'a vector name that is added' && source.hasExtra)
      await this.make(url, 'a vector name that is removed');
    if (kind === 'a vector name that is removed' && !source.hasExtra)
      await this.make(url, 'a vector name that is added');
    if (kind.startsWith('a recovery')) await this.#takeSnapshot(url);
    const change = { ...(await this.#request(url, kind)), key: randomUUID() };
    if (change.part !== undefined) await sendPart(url, change.part);
    return change;
  }

  /** Makes a change that must succeed. */
  async make(url: string, kind: Kind): Promise<void> {
    expect(await this.send(url, await this.next(url, kind))).toBe(true);
  }

  /** Sends a request; false where the server was gone before it had answered. */
  async send(url: string, change: Change): Promise<boolean> {
    this.#sent = change;
    try {
      const { status } = await call(url, change.method, change.path, change.body, change.key);
      expect([change.method, change.path, status]).toEqual([change.method, change.path, 200]);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      return false;
    }
    this.#known = change.after;
    this.#sent = undefined;
    return true;
  }

  /**
   * All that was acknowledged is there and nothing is half there. Then the request of unknown fate is sent again under its
   * key: now it is applied, once (C25).
   */
  async verify(url: string): Promise<void> {
    const sent = this.#sent;
    const found = await readAll(url);
    expect([this.#known, ...(sent === undefined ? [] : [sent.after])]).toContainEqual(found);
    if (sent === undefined) return;
    if (sent.part !== undefined) await this.#stageAgain(url, sent, sent.part);
    expect(await this.send(url, sent)).toBe(true);
    expect(await readAll(url)).toEqual(sent.after);
  }

  /** Where the last part was not applied it is refused, since the part before it is lost, and that is sent again. */
  async #stageAgain(url: string, sent: Change, part: Part): Promise<void> {
    const found = await readAll(url);
    const { status } = await call(url, sent.method, sent.path, sent.body, sent.key);
    // A sync always writes a point with a new number.
    expect([status, found]).toEqual(status === 409 ? [409, this.#known] : [200, sent.after]);
    if (status === 409) await sendPart(url, part);
  }

  /** Changes the source and takes a snapshot of it, so that the clone is not what it has. */
  async #takeSnapshot(url: string): Promise<void> {
    await this.make(url, 'a write');
    const { result, status } = await call(url, 'POST', `${SOURCE}/snapshots`);
    expect(status).toBe(200);
    if (this.#snapshot !== undefined) {
      const before = await call(url, 'DELETE', `${SOURCE}/snapshots/${this.#snapshot.name}`);
      expect(before.status).toBe(200);
    }
    this.#snapshot = { name: result.name as string, holds: this.#known.source };
  }

  async #request(url: string, kind: Kind): Promise<Request> {
    const { source, copy } = this.#known;
    const vectors = `${SOURCE}/vectors/extra`;
    const without: Points = Object.fromEntries(
      Object.entries(source.points).map(([id, [number]]) => [id, [number, false]]),
    );
    switch (kind) {
      case 'a clone':
        return this.#change('POST', `${SOURCE}/clone`, { name: 'copy' }, { copy: source });
      case 'a deletion of a clone': {
        const left = Object.entries(this.#known.aliases).filter(([, collection]) => collection !== 'copy');
        return this.#change('DELETE', COPY, undefined, { copy: null, aliases: Object.fromEntries(left) });
      }
      case 'a vector name that is added': {
        const body = { dense: { size: 1, distance: 'Dot' } };
        return this.#change('PUT', vectors, body, { source: { ...source, hasExtra: true } });
      }
      case 'a vector name that is removed':
        return this.#change('DELETE', vectors, undefined, { source: { points: without, hasExtra: false } });
      case 'a write':
        return this.#upsert([randomId(), randomId(), randomId()]);
      case 'a write on condition of versions':
        return this.#upsertIf(url, [randomId(), randomId()]);
      case 'a write of points whose time has come':
        return this.#upsert([randomId(), randomId()], { until: 1 });
      case 'a batch of aliases':
        return this.#aliases(copy !== null && Math.random() < 0.5 ? 'copy' : 'source');
      case 'a recovery over a collection that is there':
      case 'a recovery of a collection that is not there': {
        const { name, holds } = this.#snapshot!;
        return this.#change('PUT', `${COPY}/snapshots/recover`, { location: name }, { copy: holds });
      }
      case 'a sync of a source':
      case 'the last part of a sync':
        return this.#sync(kind === 'the last part of a sync');
    }
  }

  /** A sync of the points with ids below a number: most stay, some go, and some are put, always one of them (C20). */
  #sync(inParts: boolean): Request {
    const { source } = this.#known;
    const n = (this.#number += 1);
    const ids = Array.from({ length: SOURCE_IDS }, (_, id) => id);
    const isWritten = (id: number): boolean => id === n % SOURCE_IDS || Math.random() < 0.2;
    const written = ids.filter(isWritten);
    const stay = ids.filter((id) => id in source.points && !written.includes(id) && Math.random() < 0.8);
    const others = Object.entries(source.points).filter(
      ([id]) => Number(id) >= SOURCE_IDS || stay.includes(Number(id)),
    );
    const points: Points = {
      ...Object.fromEntries(others),
      ...Object.fromEntries(written.map((id) => [id, [n, source.hasExtra]])),
    };
    const entries = [
      ...stay.map((id) => ({ id, hash: source.points[id]![0] })),
      ...written.map((id) => this.#point(id, n)),
    ];
    const split = inParts ? Math.ceil(entries.length / 2) : 0;
    const scope = { must: { has_id: ids } };
    const part = (some: readonly unknown[]) => ({ scope, hash_key: 'n', points: some });
    const sync_id = `sync ${n}`;
    const last = inParts && { sync_id, last: true, ...(Math.random() < 0.5 && { staged: split }) };
    const body = { ...part(entries.slice(split)), ...last };
    return {
      ...this.#change('PUT', `${SOURCE}/points/sync`, body, { source: { ...source, points } }),
      ...(inParts && { part: { body: { ...part(entries.slice(0, split)), sync_id }, staged: split } }),
    };
  }

  /** A point with the vectors that go with its id and a number. */
  #point(id: number, n: number, more: object = {}) {
    const { hasExtra } = this.#known.source;
    return { id, vector: { v: [n, id], ...(hasExtra && { extra: [n] }) }, payload: { n, ...more } };
  }

  #change(method: string, path: string, body: unknown, after: Partial<State>): Request {
    return { method, path, body, after: { ...this.#known, ...after } };
  }

  /** Writes points with one new number; those that have `until` are not found any more. */
  #upsert(ids: readonly number[], more: object = {}, versions?: ReadonlyMap<number, number>) {
    const { source } = this.#known;
    const n = (this.#number += 1);
    const after: Record<number, readonly [number, boolean]> = { ...source.points };
    const points = [...new Set(ids)].map((id) => {
      if ('until' in more) Reflect.deleteProperty(after, id);
      else after[id] = [n, source.hasExtra];
      const version = versions && { if_version: versions.get(id) ?? 0 };
      return { ...this.#point(id, n, more), ...version };
    });
    return this.#change('PUT', `${SOURCE}/points`, { points }, { source: { ...source, points: after } });
  }

  /** Writes points that must have the versions that they have; with another one of them it is refused before. */
  async #upsertIf(url: string, ids: readonly number[]): Promise<Request> {
    const query = { query: [1, 1], using: 'v', limit: 100, params: { exact: true } };
    const { result } = await call(url, 'POST', `${SOURCE}/points/query`, query);
    const hits = result.points as { id: number; version: number }[];
    const versions = new Map(hits.map(({ id, version }) => [id, version]));
    const stale = new Map(versions).set(ids[0]!, (versions.get(ids[0]!) ?? 0) + 1);
    const refused = this.#upsert(ids, {}, stale);
    expect((await call(url, refused.method, refused.path, refused.body)).status).toBe(409);
    return this.#upsert(ids, {}, versions);
  }

  /** Two aliases that always mean the same collection, and a third name for one of them by turns. */
  #aliases(collection: string): Request {
    const { aliases } = this.#known;
    const last = 'two' in aliases ? 'zwei' : 'two';
    const actions = [
      { create_alias: { alias_name: 'one', collection_name: collection } },
      ...Object.keys(aliases)
        .filter((alias) => alias !== 'one')
        .map((alias_name) => ({ delete_alias: { alias_name } })),
      { create_alias: { alias_name: last, collection_name: collection } },
    ];
    return this.#change(
      'POST',
      '/collections/aliases',
      { actions },
      {
        aliases: { one: collection, [last]: collection },
      },
    );
  }
}
