import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../../src/index';
import { embeddings, FakeEndpoint, sendJson } from '../models/fake-endpoint';
import { sleep, until } from '../until';
import { HURRIED, ServerChild } from './server-child';

/** Kills amid a re-embedding; `npm run test:long -- kills` has more. */
const KILLS = Math.max(3, Math.ceil(Number(process.env['KITHDB_KILLS'] ?? 1) / 10));
const POINTS = 2000;
/** Texts of a batch. */
const BATCH = 64;
/** A kill comes at most so long after the last batch was embedded. */
const LONGEST_DELAY_MS = 40;
const TIMEOUT_MS = 240_000 + KILLS * 30_000;

let folder: string;
let endpoint: FakeEndpoint;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-kill-reembedding-'));
  endpoint = await FakeEndpoint.start();
});
afterEach(async () => {
  await ServerChild.killAll();
  await endpoint.stop();
  rmSync(folder, { recursive: true });
});

const newVector = (text: string): number[] => [Number(text.slice(5)), 1, 2];

function start(): ServerChild {
  const models = [{ name: 'new', url: endpoint.url, model: 'fake' }];
  return new ServerChild(join(folder, 'data'), {
    launcher: HURRIED,
    env: { KITHDB_MODELS: JSON.stringify(models) },
  });
}

/** How often each text was embedded. */
function counted(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of endpoint.texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

test(
  'C19 a kill amid a re-embedding embeds one batch again at most, and loses no write',
  async () => {
    endpoint.answer = (response, { input }) => {
      sendJson(response, 200, embeddings(input, newVector));
    };
    let server = start();
    let db = connect(await server.ready);
    await db.createCollection('c', {
      vectors: { v: { size: 2, distance: 'Euclid', model: { name: 'old', text_key: 't' } } },
    });
    const texts = new Map<number, string>();
    const write = async (ids: readonly number[], name: (id: number) => string): Promise<void> => {
      const points = ids.map((id) => ({ id, vector: { v: [id, 0] }, payload: { t: name(id) } }));
      await db.upsert('c', { points });
      for (const id of ids) texts.set(id, name(id));
    };
    const all = Array.from({ length: POINTS }, (_, id) => id);
    await write(all, (id) => `text ${String(id)}`);
    endpoint.forget();
    endpoint.answer = (response, { input }) => {
      sendJson(response, 200, embeddings(input, newVector));
    };
    await db.reembed('c', 'v', { model: 'new' });
    for (let kill = 0; kill < KILLS; kill += 1) {
      const before = endpoint.calls.length;
      await until(() => endpoint.calls.length > before + 1 || endpoint.texts.length > POINTS);
      // A write that is acknowledged before the kill; its text was not there before.
      const id = kill * 7;
      await write([id], () => `text ${String(POINTS + kill)}`);
      await sleep(Math.random() * LONGEST_DELAY_MS);
      await db.close();
      server.signal('SIGKILL');
      expect(await server.exit).toEqual({ code: null, signal: 'SIGKILL' });
      server = start();
      db = connect(await server.ready);
    }
    await until(async () => (await db.getReembedding('c', 'v')).state === 'ready');
    const again = [...counted()].filter(([text]) => text !== 'text').map(([, count]) => count - 1);
    expect(again.reduce((sum, more) => sum + more, 0)).toBeLessThanOrEqual(KILLS * BATCH);
    await db.commitReembedding('c', 'v');
    const found = await db.scroll('c', { limit: POINTS, with_vector: true });
    const vectors = new Map(found.points.map(({ id, vector }) => [id, (vector as { v: number[] }).v]));
    expect(vectors).toEqual(new Map([...texts].map(([id, text]) => [id, newVector(text)])));
    await db.close();
  },
  TIMEOUT_MS,
);
