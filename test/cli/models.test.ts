import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeEndpoint } from '../models/fake-endpoint';
import { kithdb } from './console';

let folder: string;
let endpoint: FakeEndpoint;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-cli-models-'));
  mkdirSync(join(folder, 'data'));
  endpoint = await FakeEndpoint.start();
});
afterAll(async () => {
  await endpoint.stop();
  rmSync(folder, { recursive: true });
});

test('C16, C18 commands over a folder have the models of KITHDB_MODELS', async () => {
  const env = { KITHDB_MODELS: JSON.stringify([{ name: 'letters', url: endpoint.url, model: 'm' }]) };
  const dataDir = ['--data-dir', join(folder, 'data')];
  const vectors = join(folder, 'vectors.jsonl');
  writeFileSync(vectors, '{"id":1,"vector":[0,0,1]}\n');
  const made = ['import', vectors, '--collection', 'notes', ...dataDir, '--distance', 'Dot'];
  expect(await kithdb(made, { env })).toMatchObject({ code: 0 });
  expect(endpoint.texts).toEqual([]);
  const texts = join(folder, 'texts.jsonl');
  const lines = ['aa', 'bbb'].map((text, at) =>
    JSON.stringify({ id: at + 2, vector: { text, model: 'letters' }, payload: { text } }),
  );
  writeFileSync(texts, lines.join('\n'));
  expect(await kithdb(['import', texts, '--collection', 'notes', ...dataDir], { env })).toMatchObject({
    code: 0,
    err: '',
  });
  expect(endpoint.texts).toEqual(['aa', 'bbb']);
  const body = JSON.stringify({ query: { text: 'b', model: 'letters' }, limit: 1 });
  const asked = ['query', 'notes', ...dataDir, '--body', body, '--json'];
  const { out } = await kithdb(asked, { env });
  expect(JSON.parse(out)).toEqual([expect.objectContaining({ id: 3, payload: { text: 'bbb' } })]);
  expect(await kithdb(asked)).toMatchObject({
    code: 1,
    err: expect.stringContaining('unknown model') as string,
  });
});

test('models that cannot be used end a command that needs them, and no other', async () => {
  const env = { KITHDB_MODELS: '/nowhere/models.yaml' };
  const dataDir = ['--data-dir', join(folder, 'data')];
  expect(await kithdb(['query', 'notes', ...dataDir], { env })).toMatchObject({
    code: 2,
    err: expect.stringContaining('/nowhere/models.yaml cannot be read') as string,
  });
  expect(await kithdb(['export', 'notes', ...dataDir], { env })).toMatchObject({ code: 0, err: '' });
  expect(
    await kithdb(['query', 'notes', '--url', endpoint.url.replace('http', 'https')], { env }),
  ).toMatchObject({
    code: 1,
    err: expect.stringContaining('No answer') as string,
  });
});
