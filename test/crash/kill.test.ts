import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Oracle, type Point, SIZE, vectorOf } from './oracle';
import { ServerChild } from './server-child';

/** Kills of a normal run; the environment variable sets another number. */
const KILLS = Number(process.env['KITHDB_KILLS'] ?? 100);
/** Data directories that are killed side by side. */
const CHAINS = 2;
/** Connections that write at the same time. */
const CLIENTS = 4;
const TIMEOUT_MS = 60_000 + KILLS * 5_000;

interface Answer {
  readonly status: number;
  readonly result: unknown;
}

/** The server was gone before it had answered. */
class NoAnswer extends Error {}

async function call(url: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const content =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  try {
    const response = await fetch(url + path, { method, ...content });
    const { result } = (await response.json()) as { result?: unknown };
    return { status: response.status, result };
  } catch (cause) {
    throw new NoAnswer(`${method} ${path}`, { cause });
  }
}

async function ok(url: string, method: string, path: string, body?: unknown): Promise<unknown> {
  const { status, result } = await call(url, method, path, body);
  if (status !== 200) throw new Error(`${method} ${path} answered ${status}`);
  return result;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A data directory with its clients, over many servers. */
class Chain {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'kithdb-kill-'));
  // Two collections: groups of several collections share one sync.
  readonly oracles = Array.from(
    { length: CLIENTS },
    (_, at) => new Oracle(at * 1000, at % 2 === 0 ? 'even' : 'odd'),
  );
  acknowledged = 0;

  async create(url: string): Promise<void> {
    for (const name of ['even', 'odd']) {
      const { status } = await call(url, 'PUT', `/collections/${name}`, {
        vectors: { size: SIZE, distance: 'Euclid' },
        hnsw_config: { m: 8, ef_construct: 32, full_scan_threshold: 10 },
      });
      // A kill may have come between the two.
      expect([200, 409]).toContain(status);
    }
  }

  /** Writes on every connection until the server stops answering. */
  async load(url: string): Promise<void> {
    await Promise.all([...this.oracles.map((oracle) => this.#write(url, oracle)), this.#comeAndGo(url)]);
  }

  async #write(url: string, oracle: Oracle): Promise<void> {
    for (;;) {
      const write = oracle.choose();
      oracle.sent(write);
      try {
        const { status } = await call(url, write.method, write.path, write.body);
        oracle.answered(status === 200);
        if (status === 503) return;
        expect(status).toBe(200);
        this.acknowledged += 1;
      } catch (error) {
        if (error instanceof NoAnswer) return;
        throw error;
      }
    }
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

  /** Everything acknowledged is there with its exact content, nothing is half there, and searches find it. */
  async verify(url: string): Promise<void> {
    for (const collection of ['even', 'odd']) {
      const page = { limit: 10_000, with_vector: true };
      const { points } = (await ok(url, 'POST', `/collections/${collection}/points/scroll`, page)) as {
        points: { id: number; vector: number[]; payload: Point }[];
      };
      for (const { id, vector, payload } of points) {
        expect(vector).toEqual(vectorOf(id, payload.number));
      }
      const count = await ok(url, 'POST', `/collections/${collection}/points/count`, {});
      expect(count).toEqual({ count: points.length });
      const clients = this.oracles.filter((oracle) => oracle.collection === collection);
      for (const oracle of clients) {
        const mine = points.filter(({ id }) => oracle.owns(id));
        expect(oracle.settle(new Map(mine.map(({ id, payload }) => [id, payload])))).toBeUndefined();
      }
      expect(points.every(({ id }) => clients.some((oracle) => oracle.owns(id)))).toBe(true);
      for (const { id, vector } of points.filter(() => Math.random() < 0.05)) {
        for (const exact of [true, false]) {
          const search = { vector, limit: 1, params: { exact, hnsw_ef: 400 } };
          const found = await ok(url, 'POST', `/collections/${collection}/points/search`, search);
          expect(found).toMatchObject([{ id, score: 0 }]);
        }
      }
    }
    const passing = await call(url, 'POST', '/collections/passing/points/count', {});
    if (passing.status === 200) {
      expect([{ count: 0 }, { count: 1 }]).toContainEqual(passing.result);
    } else {
      expect(passing.status).toBe(404);
    }
  }

  remove(): void {
    rmSync(this.dataDir, { recursive: true });
  }
}

/** Starts a server, loads it and kills it at a random moment. */
async function killOnce(chain: Chain): Promise<void> {
  if (Math.random() < 0.15) {
    // In the middle of a start.
    const early = new ServerChild(chain.dataDir);
    await sleep(Math.random() * 400);
    early.signal('SIGKILL');
    await early.exit;
    return;
  }
  const server = new ServerChild(chain.dataDir);
  const url = await server.ready;
  await chain.create(url);
  await chain.verify(url);
  const load = chain.load(url);
  await sleep(20 + Math.random() * 250);
  if (Math.random() < 0.3) {
    // In the middle of a clean stop, which writes checkpoints.
    server.signal('SIGTERM');
    await sleep(Math.random() * 60);
  }
  server.signal('SIGKILL');
  await Promise.all([server.exit, load]);
}

async function withChain(work: (chain: Chain) => Promise<void>): Promise<void> {
  const chain = new Chain();
  try {
    await work(chain);
  } finally {
    chain.remove();
  }
}

test(
  `C11.3 ${KILLS} kills under a mixed write load lose nothing that was acknowledged`,
  async () => {
    let left = KILLS;
    const work = async (chain: Chain): Promise<void> => {
      while (left > 0) {
        left -= 1;
        await killOnce(chain);
      }
      const server = new ServerChild(chain.dataDir);
      const url = await server.ready;
      await chain.create(url);
      await chain.verify(url);
      server.signal('SIGTERM');
      expect(await server.exit).toEqual({ code: 0, signal: null });
      expect(chain.acknowledged).toBeGreaterThan(0);
    };
    await Promise.all(Array.from({ length: CHAINS }, () => withChain(work)));
  },
  TIMEOUT_MS,
);

test(
  'C11.3 SIGTERM under load finishes what runs, loses nothing and exits with 0',
  () =>
    withChain(async (chain) => {
      for (let round = 0; round < 3; round += 1) {
        const server = new ServerChild(chain.dataDir);
        const url = await server.ready;
        await chain.create(url);
        await chain.verify(url);
        const load = chain.load(url);
        await sleep(200);
        server.signal('SIGTERM');
        expect(await server.exit).toEqual({ code: 0, signal: null });
        await load;
      }
      const server = new ServerChild(chain.dataDir);
      await chain.verify(await server.ready);
      server.signal('SIGKILL');
      await server.exit;
    }),
  TIMEOUT_MS,
);

test(
  'C11.3 a second signal exits at once and loses nothing',
  () =>
    withChain(async (chain) => {
      for (const signals of [
        ['SIGTERM', 'SIGTERM'],
        ['SIGINT', 'SIGTERM'],
      ] as const) {
        const server = new ServerChild(chain.dataDir);
        const url = await server.ready;
        await chain.create(url);
        await chain.verify(url);
        // A request whose body never ends would hold the stop up for its full grace period.
        const held = fetch(`${url}/collections/even/points`, {
          method: 'PUT',
          headers: { 'content-type': 'application/json' },
          body: new ReadableStream({
            start: (body): void => {
              body.enqueue(new TextEncoder().encode('{"points": ['));
            },
          }),
          duplex: 'half',
        }).catch(() => undefined);
        const load = chain.load(url);
        await sleep(150);
        server.signal(signals[0]);
        // Well past the moment in which an identical signal counts as the same one.
        await sleep(400);
        server.signal(signals[1]);
        expect(await server.exit).toEqual({ code: 1, signal: null });
        await Promise.all([load, held]);
      }
      const server = new ServerChild(chain.dataDir);
      await chain.verify(await server.ready);
      server.signal('SIGKILL');
      await server.exit;
    }),
  TIMEOUT_MS,
);
