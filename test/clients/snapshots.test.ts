import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startServer, type TemporaryServer } from '../../src';
import { connectJsClient, refusal } from './js-client';
import { python, whenThereIsPython } from './python';

describe("snapshots through Qdrant's clients, unchanged, in the dialect qdrant (C9.1, C12)", () => {
  const TOKEN = 'a-token-of-the-tests-of-snapshots';
  let server: TemporaryServer;

  beforeAll(async () => {
    server = await startServer({
      settings: { KITHDB_DIALECT: 'qdrant', KITHDB_ACCESS_TOKEN: TOKEN },
    });
  });
  afterAll(() => server.stop());

  it('C12 the JavaScript client', async () => {
    const client = await connectJsClient(server.url, TOKEN);
    await client.createCollection('js', { vectors: { size: 2, distance: 'Dot' } });
    await client.upsert('js', { points: [{ id: 1, vector: [1, 2] }] });
    const made = await client.createSnapshot('js');
    expect(await client.listSnapshots('js')).toEqual([made]);
    await client.delete('js', { points: [1] });
    const { name = '', checksum } = made ?? {};
    expect(await client.recoverSnapshot('js', { location: name, ...(checksum && { checksum }) })).toBe(true);
    expect(await client.count('js')).toEqual({ count: 1 });
    expect(await client.deleteSnapshot('js', name)).toBe(true);
    const full = await client.createFullSnapshot();
    expect(await client.listFullSnapshots()).toEqual([full]);
    expect(await client.deleteFullSnapshot(full.name)).toBe(true);
    const [status] = await refusal(client.recoverSnapshot('js', { location: 'https://example.org/a' }));
    expect(status).toBe(400);
  });

  whenThereIsPython('C12 the Python client', async () => {
    const script = join(__dirname, 'python', 'snapshots.py');
    await promisify(execFile)(python, ['-W', 'ignore', script, server.url, TOKEN]);
  });
});
