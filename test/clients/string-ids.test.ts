import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { send } from '../http/harness';
import { startGuardedServer, type GuardedServer } from './guarded-server';
import { connectJsClient } from './js-client';
import { python, whenThereIsPython } from './python';

/** Clients refuse, or leave out, the setting of a new collection; its ids they pass on. */
describe('C21 string ids through the clients of Qdrant, unchanged', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-client-ids-'));
  let server: GuardedServer;
  let token: string;

  beforeAll(async () => {
    server = await startGuardedServer(join(folder, 'data'));
    token = await server.accessToken('read,write');
  });
  afterAll(async () => {
    expect(await server.stop()).toBe(0);
    rmSync(folder, { recursive: true, force: true });
  });

  async function create(name: string): Promise<void> {
    const json = { vectors: { size: 2, distance: 'Dot' }, ids: 'string' };
    const headers = { authorization: `Bearer ${token}` };
    const port = Number(new URL(server.url).port);
    expect((await send({ port }, 'PUT', `/collections/${name}`, { json, headers })).status).toBe(200);
  }

  it('@qdrant/js-client-rest', async () => {
    await create('js');
    const client = await connectJsClient(server.url, token);
    const points = [
      { id: 'doc/1', vector: [1, 0] },
      { id: '7', vector: [0, 1] },
      { id: 7, vector: [1, 1] },
    ];
    await client.upsert('js', { wait: true, points });
    const page = await client.scroll('js', { limit: 2 });
    expect([page.points.map(({ id }) => id), page.next_page_offset]).toEqual([[7, '7'], 'doc/1']);
    expect((await client.retrieve('js', { ids: ['7', 7] })).map(({ id }) => id)).toEqual(['7', 7]);
    expect((await client.query('js', { query: 'doc/1', limit: 1 })).points[0]?.id).toBe(7);
    await client.setPayload('js', { payload: { k: 1 }, points: ['7'], wait: true });
    await client.delete('js', { filter: { must: [{ has_id: ['7'] }] }, wait: true });
    expect((await client.count('js')).count).toBe(2);
  });

  whenThereIsPython('qdrant-client for Python', async () => {
    await create('py');
    execFileSync(python, ['-B', join(__dirname, 'python', 'string_ids.py'), server.url, token, 'py']);
  });
});
