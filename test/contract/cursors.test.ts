import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, open } from '../../src';
import { send } from '../http/harness';
import { ContractServer, type Json } from './contract-server';

const PASSWORD = 'Correct-Horse-9-Battery';
const POINTS = 25;
const points = Array.from({ length: POINTS }, (_, id) => ({
  id,
  vector: [id, 1],
  payload: { tenant: id % 2 === 0 ? 'a' : 'b' },
}));

let server: ContractServer;
let jwt: string;
beforeAll(async () => {
  server = await ContractServer.start([], {
    KITHDB_ADMIN_PASSWORD: PASSWORD,
    KITHDB_AUTH_ENABLED: 'true',
  });
  const login = await send({ port: server.port }, 'POST', '/auth/admin/login', {
    json: { password: PASSWORD },
  });
  jwt = login.body.token;
  await call(jwt, 'PUT', '/collections/c', { vectors: { size: 2, distance: 'Dot' } });
  await call(jwt, 'PUT', '/collections/c/points', { points });
});
afterAll(() => server.stop());

function call(token: string, method: string, path: string, json?: unknown) {
  return send({ port: server.port }, method, path, {
    ...(json !== undefined && { json }),
    headers: { authorization: `Bearer ${token}` },
  });
}

async function token(fields: object = {}): Promise<string> {
  const body = { name: 'x', permission: 'read,write', ...fields };
  return (await call(jwt, 'POST', '/auth/access_token', body)).body.token;
}

function scroll(credential: string, body: object) {
  return call(credential, 'POST', '/collections/c/points/scroll', body);
}

const idsOf = (found: readonly Json[]): number[] => found.map(({ id }) => id as number);
const GONE = 'Cursor not found: it is unknown or has expired';

describe('C22 cursors over HTTP', () => {
  it('C22 the pages of a scroll are those of its first view', async () => {
    const own = await token();
    let answer = await scroll(own, { limit: 10, cursor: { ttl: 300 } });
    const found = idsOf(answer.body.result.points);
    while (answer.body.next_cursor !== null) {
      expect((await call(own, 'PUT', '/collections/c/points', { points })).status).toBe(200);
      await call(own, 'POST', '/collections/c/points/delete', { points: [24] });
      answer = await scroll(own, { cursor: answer.body.next_cursor });
      found.push(...idsOf(answer.body.result.points));
    }
    expect(found).toEqual(points.map(({ id }) => id));
    await call(own, 'PUT', '/collections/c/points', { points });
  });

  it('C22 a cursor of another credential is the 404 of an unknown one', async () => {
    const [own, other] = [await token(), await token()];
    const { next_cursor: cursor } = (await scroll(own, { limit: 10, cursor: { ttl: 300 } })).body;
    for (const answer of [
      await scroll(other, { cursor }),
      await scroll(jwt, { cursor }),
      await scroll(own, { cursor: 'x' }),
      await call(own, 'POST', '/collections/c/points/query', { cursor }),
    ]) {
      expect([answer.status, answer.body.status.error]).toEqual([404, GONE]);
    }
    expect((await scroll(own, { cursor })).status).toBe(200);
  });

  it('C15, C22 a token with a filter sees its points on every page', async () => {
    const filter = { must: [{ key: 'tenant', match: { value: 'a' } }] };
    const own = await token({ filter });
    const found: number[] = [];
    let body: object = { query: [1, 0], limit: 5, cursor: { ttl: 300 } };
    for (;;) {
      const answer = await call(own, 'POST', '/collections/c/points/query', body);
      found.push(...idsOf(answer.body.result.points));
      if (answer.body.next_cursor === null) break;
      body = { cursor: answer.body.next_cursor };
    }
    expect(found).toEqual(
      points
        .filter(({ id }) => id % 2 === 0)
        .map(({ id }) => id)
        .reverse(),
    );
  });

  it('C22 one more than max_cursors is a 429, and those that are open go on', async () => {
    // A server of its own: what is open would refuse the cursors of other tests.
    const small = await ContractServer.start(['--max-cursors', '20']);
    try {
      const path = `${await small.holding(points)}/points/scroll`;
      for (let opened = 0; opened < 19; opened += 1) {
        await small.call('POST', path, { limit: 10, cursor: { ttl: 300 } });
      }
      const { next_cursor: cursor } = (await small.call('POST', path, { limit: 10, cursor: { ttl: 300 } }))
        .body;
      const refused = await small.call('POST', path, { limit: 10, cursor: { ttl: 300 } });
      expect(refused.status).toBe(429);
      expect(refused.body.status.error).toMatch(/20 cursors are open, the most at a time \(max_cursors\)/);
      expect(refused.headers['retry-after']).toBeDefined();
      expect((await small.call('POST', path, { cursor })).status).toBe(200);
    } finally {
      await small.stop();
    }
  });

  it('C22 a cursor in a batch, a wrong time to live and a field beside a cursor are a 400 with the place', async () => {
    const cursor = { ttl: 300 };
    for (const [path, body, place] of [
      ['query/batch', { searches: [{ query: [1, 0], cursor }] }, 'searches[0].cursor'],
      ['scroll', { cursor: { ttl: 601 } }, 'cursor.ttl'],
      ['scroll', { cursor: '0', limit: 5 }, 'cursor: a further page is asked for by its cursor alone'],
    ] as const) {
      const answer = await call(jwt, 'POST', `/collections/c/points/${path}`, body);
      expect(answer.status).toBe(400);
      expect(answer.body.status.error).toContain(place);
    }
  });
});

describe('C18, C22 pages of the client', () => {
  it.each(['over HTTP', 'over a folder'])('are the same %s', async (how) => {
    const folder = mkdtempSync(join(tmpdir(), 'kithdb-cursors-'));
    const db =
      how === 'over a folder'
        ? await open(folder)
        : connect(`http://127.0.0.1:${server.port}`, { token: jwt });
    try {
      await db.createCollection('pages', { vectors: { size: 2, distance: 'Dot' } });
      await db.upsert('pages', { points });
      const collect = async (pages: AsyncGenerator<readonly Json[]>): Promise<number[][]> => {
        const found: number[][] = [];
        for await (const page of pages) found.push(idsOf(page));
        return found;
      };
      const ranked = points.map(({ id }) => id).reverse();
      const inPages = (ids: number[]): number[][] => [ids.slice(0, 10), ids.slice(10, 20), ids.slice(20)];
      const reads = { limit: 10, cursor: { ttl: 300 }, timeout: 90 };
      expect(await collect(db.scrollPages('pages', { limit: 10 }))).toEqual(
        inPages(points.map(({ id }) => id)),
      );
      expect(await collect(db.queryPages('pages', { query: [1, 0], ...reads }))).toEqual(inPages(ranked));
      expect(await collect(db.searchPages('pages', { vector: new Float32Array([1, 0]), ...reads }))).toEqual(
        inPages(ranked),
      );
    } finally {
      await db.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
