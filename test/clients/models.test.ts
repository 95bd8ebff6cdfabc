import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ContractServer } from '../contract/contract-server';
import { FakeEndpoint } from '../models/fake-endpoint';
import type { JsClient } from './js-client';
import { python, whenThereIsPython } from './python';

const PACKAGE = '@qdrant/js-client-rest';

let endpoint: FakeEndpoint;
let server: ContractServer;

beforeAll(async () => {
  endpoint = await FakeEndpoint.start();
  const models = [{ name: 'letters', url: endpoint.url, model: 'm' }];
  server = await ContractServer.start([], { KITHDB_MODELS: JSON.stringify(models) });
});
afterAll(async () => {
  await server.stop();
  await endpoint.stop();
});

describe('C16 texts of the official clients, whose vectors the server makes', () => {
  it('C16 of the client for JavaScript', async () => {
    // Without the comparison of answers with the description: it would see the calls of the endpoint too.
    const { QdrantClient } = (await import(PACKAGE)) as { QdrantClient: new (options: object) => JsClient };
    const url = `http://127.0.0.1:${String(server.port)}`;
    const client = new QdrantClient({ url, checkCompatibility: false });
    const document = (text: string) => ({ text, model: 'letters' });
    await client.createCollection('js', { vectors: { size: 3, distance: 'Cosine' } });
    await client.upsert('js', {
      points: [
        { id: 1, vector: document('aaaa') },
        { id: 2, vector: document('bbbb') },
      ],
    });
    const { points } = await client.query('js', { query: document('bbb'), limit: 1 });
    expect(points.map(({ id }) => id)).toEqual([2]);
  });

  whenThereIsPython('C16 of the client for Python', async () => {
    const script = join(__dirname, 'python', 'texts.py');
    const url = `http://127.0.0.1:${String(server.port)}`;
    const { stdout } = await promisify(execFile)(python, ['-B', script, url]);
    expect(JSON.parse(stdout)).toEqual([[2], [1], [1]]);
  });
});
