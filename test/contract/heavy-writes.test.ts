import { request } from 'node:http';
import { ContractServer } from './contract-server';

/** Points whose long texts no index has. */
const POINTS = 4000;
const TEXT = 'the quick brown fox jumps over the lazy dog and runs away '.repeat(20);

/** 400 updates, each with a filter of 100 text conditions that match nothing: minutes of work for each batch. */
const HEAVY = JSON.stringify({
  operations: Array.from({ length: 400 }, (_, update) => ({
    set_payload: {
      payload: { seen: update },
      filter: {
        should: Array.from({ length: 100 }, (_, word) => ({
          key: 'text',
          match: { text: `no${update}x${word}` },
        })),
      },
    },
  })),
});

/** A request whose client can leave. */
interface Sent {
  /** Status and body, once they are there. */
  answer: { status: number; body: string } | undefined;
  readonly ended: Promise<unknown>;
  leave(): void;
}

describe('writes with heavy filters', () => {
  let server: ContractServer;
  beforeEach(async () => {
    server = await ContractServer.start();
  });
  afterEach(() => server.stop());

  async function texts(name: string): Promise<string> {
    const path = await server.collection(name, { vectors: { size: 1, distance: 'Dot' } });
    for (let first = 0; first < POINTS; first += 1000) {
      const points = Array.from({ length: 1000 }, (_, at) => first + at);
      await server.ok('PUT', `${path}/points`, {
        points: points.map((id) => ({ id, vector: [id], payload: { text: `${id} ${TEXT}` } })),
      });
    }
    return path;
  }

  function attack(path: string): Sent {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(HEAVY) };
    const outgoing = request({
      ...{ host: '127.0.0.1', port: server.port, agent: false, headers },
      ...{ method: 'POST', path: `${path}/points/batch?timeout=3600` },
    });
    const sent: Sent = {
      answer: undefined,
      ended: new Promise((resolve) => outgoing.on('close', resolve)),
      leave: () => outgoing.destroy(),
    };
    outgoing.on('error', () => undefined);
    outgoing.on('response', (incoming) => {
      let body = '';
      incoming.on('data', (chunk: Buffer) => (body += chunk.toString()));
      incoming.on('end', () => (sent.answer = { status: incoming.statusCode ?? 0, body }));
    });
    outgoing.end(HEAVY);
    return sent;
  }

  it('are overtaken by light writes, creations and deletions, and end when their clients leave (C4.5, C5)', async () => {
    const paths = [await texts('first'), await texts('second')];
    const heavy = Array.from({ length: 8 }, (_, at) => attack(paths[at % 2] ?? ''));
    for (let round = 0; round < 10; round += 1) {
      for (const path of paths) {
        const point = { id: 10_000 + round, vector: [1], payload: { text: 'new' } };
        await server.ok('PUT', `${path}/points?timeout=60`, { points: [point] });
        const filter = { must: [{ has_id: [10_000 + round] }] };
        await server.ok('POST', `${path}/points/payload`, { payload: { seen: 'light' }, filter });
      }
      const made = await server.collection(`made-${round}`);
      expect(await server.ok('DELETE', made)).toBe(true);
    }
    expect(heavy.map(({ answer }) => answer)).toEqual(heavy.map(() => undefined));
    const lights = { filter: { must: [{ key: 'seen', match: { value: 'light' } }] } };
    for (const path of paths) {
      expect(await server.ok('POST', `${path}/points/count`, lights)).toEqual({ count: 10 });
    }
    for (const sent of heavy) {
      sent.leave();
    }
    await Promise.all(heavy.map(({ ended }) => ended));
    // Nothing of them is left to wait for, and nothing of them has happened.
    await server.restart();
    const seen = { filter: { must_not: [{ is_empty: { key: 'seen' } }] } };
    for (const path of paths) {
      expect(await server.ok('POST', `${path}/points/count`, seen)).toEqual({ count: 10 });
    }
  });

  it('end with their collection, whose deletion does not wait for them (C4.5)', async () => {
    const paths: string[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      paths.push(await texts(name));
    }
    const heavy = paths.map((path) => attack(path));
    await server.ok('PUT', `${paths[0] ?? ''}/points`, { points: [{ id: 1, vector: [1] }] });
    const deleted = paths.map((path) => server.ok('DELETE', `${path}?timeout=3600`));
    await server.collection('meanwhile');
    expect(await Promise.all(deleted)).toEqual(paths.map(() => true));
    await Promise.all(heavy.map(({ ended }) => ended));
    for (const [at, sent] of heavy.entries()) {
      // One that had not reached the engine yet finds the collection marked or gone.
      expect([404, 412]).toContain(sent.answer?.status);
      if (sent.answer?.status === 404) {
        const name = (paths[at] ?? '').replace('/collections/', '');
        expect(JSON.parse(sent.answer.body).status).toEqual({ error: `Collection not found: ${name}` });
      }
    }
    await server.collection('a', { vectors: { size: 1, distance: 'Dot' } });
    expect(await server.ok('POST', '/collections/a/points/count', {})).toEqual({ count: 0 });
  });
});
