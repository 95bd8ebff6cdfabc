import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from '../../src/index';
import { FakeEndpoint } from '../models/fake-endpoint';
import { until } from '../until';
import { Member } from './member';

let folder: string;
let endpoint: FakeEndpoint;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-reembedding-'));
  endpoint = await FakeEndpoint.start();
});
afterEach(async () => {
  await Member.killAll();
  await endpoint.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('C18, C19 an attached process begins a re-embedding, and goes on with it when the owner ends', async () => {
  const owner = await Member.open(folder);
  const models = [{ name: 'letters', url: endpoint.url, model: 'fake' }];
  const db = await open(folder, { models });
  try {
    const model = { name: 'old', text_key: 't' };
    await db.createCollection('c', { vectors: { size: 2, distance: 'Euclid', model } });
    const points = ['aab', 'bbbb'].map((t, at) => ({ id: at + 1, vector: [at, 1], payload: { t } }));
    await db.upsert('c', { points });
    await db.reembed('c', '', { model: 'letters' });
    // The owner has no such model.
    await until(async () => (await db.getReembedding('c', '')).state === 'retrying');
    expect((await db.getReembedding('c', '')).error).toMatch(/unknown model 'letters'/);
    owner.kill();
    await until(async () => (await db.getReembedding('c', '')).state === 'ready');
    await db.commitReembedding('c', '');
    const { points: found } = await db.query('c', { query: { text: 'bbb', model: 'letters' }, limit: 1 });
    expect(found.map(({ id }) => id)).toEqual([2]);
  } finally {
    await db.close();
  }
});
