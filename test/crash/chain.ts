import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { searchesOf, withPlans } from '../searches';
import { until } from '../until';
import { Oracle, type Point, type Shape, SIZE, vectorOf, vectorsOf } from './oracle';

/**
 * Collections that last, and what differs between them: a kill must lose nothing at any level of durability, and one is so
 * large that its searches walk its graph.
 */
const COLLECTIONS = [
  { name: 'even', shape: 'plain', durability: 'always', clients: 2, ids: 500 },
  { name: 'odd', shape: 'plain', durability: 'interval', clients: 1, ids: 40 },
  { name: 'named', shape: 'named', durability: 'os', clients: 1, ids: 40 },
] as const satisfies readonly {
  name: string;
  shape: Shape;
  durability: string;
  clients: number;
  /** Ids of a client. */
  ids: number;
}[];
/** The one that is large. */
const LARGE = '/collections/even';
/** Its searches: so narrow that a walk costs less than a scan. */
const WALK = { limit: 1, params: { hnsw_ef: 16, quantization: { ignore: true } } };
const WALKS = 100;
/** From this many points on a walk is the cheaper plan. */
const LEAST_WALKED = 600;
/** The least share of points, searched for by their own vectors, that such walks must find. */
const FOUND = 0.95;
/** Which of the points are searched for after a start. */
const SAMPLE = 0.05;

interface Answer {
  readonly status: number;
  readonly result: unknown;
  /** The plan of a search that asked for it (C13). */
  readonly explain?: { readonly plan: string; readonly hops: number };
}

interface Found {
  readonly id: number;
  readonly vector: unknown;
  readonly payload: Point;
}

/** The server was gone before it had answered. */
export class NoAnswer extends Error {}

async function call(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  key?: string,
): Promise<Answer> {
  const content =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const headers = { ...content.headers, ...(key !== undefined && { 'idempotency-key': key }) };
  try {
    const response = await fetch(url + path, { method, ...content, headers });
    const { result, explain } = (await response.json()) as Partial<Answer>;
    return { status: response.status, result, ...(explain && { explain }) };
  } catch (cause) {
    throw new NoAnswer(`${method} ${path}`, { cause });
  }
}

async function ok(url: string, method: string, path: string, body?: unknown): Promise<unknown> {
  const { status, result } = await call(url, method, path, body);
  if (status !== 200) throw new Error(`${method} ${path} answered ${status}`);
  return result;
}

function vectorsConfig(shape: Shape): object {
  const dense = { size: SIZE, distance: 'Euclid' };
  if (shape === 'plain') return { vectors: dense };
  const rows = { size: 4, distance: 'Dot', multivector_config: { comparator: 'max_sim' } };
  return { vectors: { dense, rows }, sparse_vectors: { sparse: {} } };
}

function choose<T>(from: readonly T[]): T {
  return from[Math.floor(Math.random() * from.length)] as T;
}

/** A data directory with its clients, over many servers. */
export class Chain {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'kithdb-kill-'));
  readonly #oracles = COLLECTIONS.flatMap(({ name, shape, clients, ids }, at) =>
    Array.from({ length: clients }, (_, client) => new Oracle((at * 10 + client) * 1000, name, shape, ids)),
  );
  acknowledged = 0;

  async create(url: string): Promise<void> {
    for (const { name, shape, durability } of COLLECTIONS) {
      const { status } = await call(url, 'PUT', `/collections/${name}`, {
        ...vectorsConfig(shape),
        hnsw_config: { m: 8, ef_construct: 32, full_scan_threshold: 10 },
        wal_config: { durability },
      });
      // A kill may have come between two of them.
      expect([200, 409]).toContain(status);
    }
  }

  /** Works on every connection until the server stops answering. */
  async load(url: string): Promise<void> {
    const work = [
      ...this.#oracles.map((oracle) => this.#write(url, oracle)),
      this.#comeAndGo(url),
      this.#change(url),
    ];
    await Promise.all(work);
  }

  async #write(url: string, oracle: Oracle): Promise<void> {
    try {
      while (await this.#writeOnce(url, oracle));
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
    }
  }

  /** Whether the server still takes writes. */
  async #writeOnce(url: string, oracle: Oracle): Promise<boolean> {
    const write = oracle.choose();
    oracle.sent(write);
    const { status } = await call(url, write.method, write.path, write.body, write.key);
    oracle.answered(status === 200);
    if (status === 503) return false;
    expect(status).toBe(200);
    this.acknowledged += 1;
    return true;
  }

  /** A collection that is created and deleted all the time. */
  async #comeAndGo(url: string): Promise<void> {
    const vectors = { size: 2, distance: 'Dot' };
    const upsert = { points: [{ id: 1, vector: [1, 2] }] };
    try {
      for (;;) {
        const created = await call(url, 'PUT', '/collections/passing', { vectors });
        if (created.status === 503) return;
        expect([200, 409]).toContain(created.status);
        const wrote = await call(url, 'PUT', '/collections/passing/points', upsert);
        const deleted = await call(url, 'DELETE', '/collections/passing');
        if (wrote.status === 503 || deleted.status === 503) return;
        expect([wrote.status, deleted.status, deleted.result]).toEqual([200, 200, true]);
      }
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
    }
  }

  /** Field indexes that come and go, and settings that build graphs anew or change what an answer waits for. */
  async #change(url: string): Promise<void> {
    try {
      for (;;) {
        const { name } = choose(COLLECTIONS);
        const [field_name, field_schema] = choose([
          ['number', 'integer'],
          ['tag', 'keyword'],
        ] as const);
        const [method, path, body] = choose([
          ['PUT', `/collections/${name}/index?wait=true`, { field_name, field_schema }],
          ['DELETE', `/collections/${name}/index/${field_name}`, undefined],
          ['PATCH', `/collections/${name}`, { hnsw_config: { m: choose([8, 10]) } }],
          [
            'PATCH',
            '/collections/named',
            { wal_config: { durability: choose(['always', 'interval', 'os']) } },
          ],
        ] as const);
        const { status } = await call(url, method, path, body);
        if (status === 503) return;
        expect([method, path, status]).toEqual([method, path, 200]);
      }
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
    }
  }

  /** Everything acknowledged is there with its exact content, nothing is half there, and searches find it. */
  async verify(url: string): Promise<void> {
    for (const { name, shape } of COLLECTIONS) {
      const page = { limit: 10_000, with_vector: true };
      const path = `/collections/${name}/points`;
      const { points } = (await ok(url, 'POST', `${path}/scroll`, page)) as { points: Found[] };
      for (const { id, vector, payload } of points) {
        const expected = vectorsOf(shape, id, payload.number);
        // Jest compares slowly, and most are written alike.
        if (JSON.stringify(vector) !== JSON.stringify(expected)) expect(vector).toEqual(expected);
      }
      const clients = this.#oracles.filter((oracle) => oracle.collection === name);
      for (const oracle of clients) {
        const mine = points.filter(({ id }) => oracle.owns(id));
        expect(oracle.settle(new Map(mine.map(({ id, payload }) => [id, payload])))).toBeUndefined();
      }
      expect(points.every(({ id }) => clients.some((oracle) => oracle.owns(id)))).toBe(true);
      for (const oracle of clients) points.push(...(await this.#repeat(url, oracle, points)));
      await verifyCounts(url, path, points);
      await verifySearches(url, path, shape, points);
      if (path.startsWith(LARGE)) await verifyWalk(url, points);
    }
    const passing = await call(url, 'POST', '/collections/passing/points/count', {});
    if (passing.status === 200) {
      expect([{ count: 0 }, { count: 1 }]).toContainEqual(passing.result);
    } else {
      expect(passing.status).toBe(404);
    }
  }

  /**
   * Repeats the write of unknown fate of the server before, now that its effect is known: whether it was applied or not,
   * then it is applied once (C25). Gives the points that it has added, and changes the others in place.
   */
  async #repeat(url: string, oracle: Oracle, points: Found[]): Promise<Found[]> {
    const write = oracle.unanswered();
    if (write === undefined) return [];
    oracle.sent(write);
    const { status } = await call(url, write.method, write.path, write.body, write.key);
    expect(status).toBe(200);
    const page = { limit: 10_000, with_vector: true };
    const path = `/collections/${oracle.collection}/points`;
    const found = (await ok(url, 'POST', `${path}/scroll`, page)) as { points: Found[] };
    const mine = found.points.filter(({ id }) => oracle.owns(id));
    expect(new Map(mine.map(({ id, payload }) => [id, payload]))).toEqual(write.after);
    oracle.answered(true);
    const others = points.filter(({ id }) => !oracle.owns(id));
    points.length = 0;
    points.push(...others);
    return mine;
  }

  /** Some points are found by their own vectors, by walks through the graph. */
  async verifyWalks(url: string): Promise<void> {
    for (const oracle of this.#oracles.filter(({ collection }) => LARGE.endsWith(`/${collection}`))) {
      // Every kill of a short run may have come before the first write.
      while (oracle.points.size < 0.6 * oracle.ids) await this.#writeOnce(url, oracle);
    }
    await until(async () => ((await ok(url, 'GET', LARGE)) as { status: string }).status === 'green');
    const page = { limit: WALKS, with_vector: true };
    const { points } = (await ok(url, 'POST', `${LARGE}/points/scroll`, page)) as { points: Found[] };
    const searches = points.map(({ vector }) => ({ vector, ...WALK }));
    const hits = (await withPlans(
      () => searchesOf(url),
      { walks: WALKS, scans: 0 },
      () => ok(url, 'POST', `${LARGE}/points/search/batch`, { searches }),
    )) as { id: number }[][];
    const found = points.filter(({ id }, at) => hits[at]?.[0]?.id === id);
    expect(found.length / WALKS).toBeGreaterThanOrEqual(FOUND);
  }

  remove(): void {
    rmSync(this.dataDir, { recursive: true });
  }
}

/** The count of all, and of what a field index may answer for. */
async function verifyCounts(url: string, path: string, points: readonly Found[]): Promise<void> {
  expect(await ok(url, 'POST', `${path}/count`, {})).toEqual({ count: points.length });
  const bound = points[Math.floor(points.length / 2)]?.payload.number ?? 0;
  const filter = { must: [{ key: 'number', range: { gte: bound } }] };
  const count = points.filter(({ payload }) => payload.number >= bound).length;
  expect(await ok(url, 'POST', `${path}/count`, { filter })).toEqual({ count });
}

/** With its graph whole, which after a start it may not be yet, the large collection is searched by walks. */
async function verifyWalk(url: string, points: readonly Found[]): Promise<void> {
  const { status } = (await ok(url, 'GET', LARGE)) as { status: string };
  if (status !== 'green' || points.length < LEAST_WALKED) return;
  const { vector } = choose(points);
  const params = { ...WALK.params, explain: true };
  const { explain } = await call(url, 'POST', `${LARGE}/points/search`, { ...WALK, vector, params });
  expect(explain).toMatchObject({ plan: 'walk' });
  expect(explain?.hops).toBeGreaterThan(0);
}

/** Some points are found by their own vectors, exactly and by searches whose plan is left to the server. */
async function verifySearches(
  url: string,
  path: string,
  shape: Shape,
  points: readonly Found[],
): Promise<void> {
  // Codes do not tell hundreds of points of one number apart.
  const quantization = { ignore: path.startsWith(LARGE) };
  const sample = points.filter(() => Math.random() < SAMPLE);
  if (sample.length === 0) return;
  const searches = sample.flatMap(({ id, payload: { number } }) => {
    const own = vectorOf(id, number);
    const vector = shape === 'plain' ? own : { name: 'dense', vector: own };
    const near = [true, false].map((exact) => ({
      vector,
      limit: 1,
      params: { exact, hnsw_ef: 400, quantization },
    }));
    if (shape === 'plain') return near;
    return [...near, { vector: { name: 'sparse', vector: { indices: [id], values: [1] } }, limit: 1 }];
  });
  const expected = sample.flatMap(({ id, payload: { number } }) => {
    const near = [[{ id, score: 0 }], [{ id, score: 0 }]];
    return shape === 'plain' ? near : [...near, [{ id, score: 1 + (number % 7) }]];
  });
  expect(await ok(url, 'POST', `${path}/search/batch`, { searches })).toMatchObject(expected);
}
