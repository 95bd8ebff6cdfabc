import { request, type ClientRequest } from 'node:http';
import { until } from '../until';
import { ContractServer, type Json } from './contract-server';

jest.mock('../../src/engine/load', () => jest.requireActual<object>('../engine/testing-addon'));

const SIZE = 32;
const EXAMPLES = 2000;
const POINTS = 4000;
/** Each query of a heavy request takes about a tenth of a second; all of them more than any test may run. */
const HEAVY_QUERIES = 1000;
/** Heavy reads that a server with one thread for searches runs at a time. */
const HEAVY_LANE = 8;
const LIGHT_READS = 50;

const vector = (seed: number): number[] =>
  Array.from({ length: SIZE }, (_, at) => Math.sin(seed * 31 + at * 7));

const positive = Array.from({ length: EXAMPLES }, (_, id) => id);
const recommend = { query: { recommend: { positive, strategy: 'best_score' } }, limit: 1 };
const HEAVY = Buffer.from(
  JSON.stringify({ searches: Array.from({ length: HEAVY_QUERIES }, () => recommend) }),
);

/** Reads are classed by their cost: what is light does not wait for what is heavy. */
describe('beside heavy reads', () => {
  let server: ContractServer;
  let running: { readonly sent: ClientRequest; ended: boolean }[] = [];

  beforeAll(async () => {
    // Further event loops would load the addon that is shipped.
    server = await ContractServer.start([], { KITHDB_EVENT_LOOPS: '1' });
    for (const [name, points] of [
      ['large', POINTS],
      ['small', 100],
    ] as const) {
      await server.ok('PUT', `/collections/${name}`, { vectors: { size: SIZE, distance: 'Dot' } });
      const upserted = Array.from({ length: points }, (_, id) => ({ id, vector: vector(id) }));
      await server.ok('PUT', `/collections/${name}/points`, { points: upserted });
    }
  }, 120_000);
  afterEach(async () => {
    for (const { sent } of running) {
      sent.destroy();
    }
    running = [];
    await until(async () => (await reads('heavy')) === 0);
  }, 120_000);
  afterAll(() => server.stop(), 120_000);

  async function reads(state: string): Promise<number> {
    const { text } = await server.call('GET', '/metrics');
    return Number(new RegExp(`^kithdb_reads\\{state="${state}"\\} (\\d+)$`, 'm').exec(text)?.[1]);
  }

  /** Starts so many reads that take minutes, and waits until they run. */
  async function startHeavy(count: number): Promise<void> {
    for (let number = 0; number < count; number += 1) {
      const sent = request({
        port: server.port,
        method: 'POST',
        path: '/collections/large/points/query/batch?timeout=3600',
        headers: { 'content-type': 'application/json', 'content-length': HEAVY.length },
        agent: false,
      });
      const one = { sent, ended: false };
      sent.on('response', () => (one.ended = true));
      sent.on('error', () => undefined);
      sent.end(HEAVY);
      running.push(one);
    }
    await until(async () => (await reads('heavy')) === count);
  }

  const search = (): Promise<Json> =>
    server.ok('POST', '/collections/small/points/search', { vector: vector(7), limit: 3 });

  it('searches of another collection and reads of its state are answered', async () => {
    await startHeavy(2);
    for (let number = 0; number < LIGHT_READS; number += 1) {
      expect(await search()).toHaveLength(3);
      expect((await server.ok('GET', '/collections/large')).points_count).toBe(POINTS);
    }
    expect(running.map(({ ended }) => ended)).toEqual([false, false]);
  }, 120_000);

  it('C1.5 one more than the lane has room for is a 429 that names it, and light reads are answered', async () => {
    await startHeavy(HEAVY_LANE);
    // Until each of them has run for 20 ms, one more may be refused for the time that it would wait instead.
    await until(async () => {
      const refused = await server.call('POST', '/collections/large/points/query', recommend);
      expect([refused.status, refused.headers['retry-after']]).toEqual([429, '1']);
      return refused.body.status.error.includes('the lane of heavy requests is full');
    });
    expect(await search()).toHaveLength(3);
    expect(running.some(({ ended }) => ended)).toBe(false);
  }, 120_000);

  it('a client that leaves ends its work', async () => {
    await startHeavy(3);
    for (const { sent } of running) {
      sent.destroy();
    }
    // The contract has no time for this, and no test asserts one: `bench:load` measures it beside its bound of 50 ms. The
    // reads would go on for minutes (their `timeout` is an hour), longer than `until` waits.
    await until(async () => (await reads('heavy')) === 0 && (await reads('waiting')) === 0);
    expect(running.map(({ ended }) => ended)).toEqual([false, false, false]);
  }, 120_000);
});
