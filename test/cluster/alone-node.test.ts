/** A node over a log server that stops, is served alone, and joins its cluster again. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer, type TemporaryServer } from '../../src/temporary-server';
import { describeUnless } from '../missing';
import { eventually } from '../until';
import { askHttp, type Answered } from './http-ask';
import { isNoNats, NatsServers } from './nats-server';
import { contentOf } from './saved-node';

const PASSWORD = 'Correct-Horse-Battery-7';
const EXACT = { exact: true };

describeUnless(isNoNats)('a node that is stopped, served alone, and started again', () => {
  let folder: string;
  let dataDir: string;
  let log: NatsServers;
  let server: TemporaryServer;
  let token = '';
  let jwt = '';

  const asNode = (): Promise<TemporaryServer> =>
    startServer({
      dataDir,
      settings: {
        ...log.nodeSettings('birds'),
        KITHDB_DIALECT: 'qdrant',
        KITHDB_AUTH_ENABLED: 'true',
        KITHDB_ADMIN_PASSWORD: PASSWORD,
      },
    });
  const alone = (): Promise<TemporaryServer> =>
    startServer({ dataDir, settings: { KITHDB_CLUSTER_ALONE: 'true', KITHDB_DIALECT: 'qdrant' } });

  const ask = (method: string, path: string, body?: object, credential = token): Promise<Answered> =>
    askHttp(server, method, path, body, { authorization: `Bearer ${credential}` });

  async function login(password = PASSWORD): Promise<string> {
    const { body } = await ask('POST', '/auth/admin/login', { username: 'admin', password });
    return JSON.stringify(body);
  }

  /** What reads answer, without the time that they took. */
  async function answers(): Promise<unknown> {
    const points = '/collections/herons/points';
    const text = { text: 'grey', model: 'qdrant/bm25' };
    const asked = await Promise.all([
      ask('GET', '/collections'),
      ask('GET', '/aliases'),
      ask('POST', `${points}/scroll`, { limit: 100, with_vector: true }),
      ask('POST', `${points}/count`, EXACT),
      ask('POST', `${points}/query`, { query: [1, 2], limit: 5, with_payload: true, params: EXACT }),
      ask('POST', `${points}/query`, { query: text, using: 'text', limit: 50 }),
      ask('POST', `${points}/query`, { query: 7, filter: { must: [{ key: 'n', range: { gt: 20 } }] } }),
      ask('GET', '/auth/access_tokens'),
    ]);
    return asked.map(({ status, body }) => [status, body['result'] ?? body]);
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kithdb-alone-node-'));
    dataDir = join(folder, 'node');
    log = await NatsServers.start(1);
    server = await asNode();
  });
  afterAll(async () => {
    await server.stop();
    await log.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function writeEverything(): Promise<void> {
    jwt = /"token":"([^"]+)"/.exec(await login())?.[1] ?? '';
    const made = await ask(
      'POST',
      '/auth/access_token',
      { name: 'all', permission: 'read,write,admin' },
      jwt,
    );
    token = /"(?:access_)?token":"([^"]+)"/.exec(JSON.stringify(made.body))?.[1] ?? '';
    const birds = { vectors: { size: 2, distance: 'Dot' }, sparse_vectors: { text: {} }, shard_number: 3 };
    expect(await ask('PUT', '/collections/birds', birds)).toMatchObject({ status: 200 });
    const points = Array.from({ length: 50 }, (_, n) => {
      const text = { text: n % 2 === 0 ? 'a grey heron' : 'a mute swan', model: 'qdrant/bm25' };
      return { id: n, vector: { '': [n, 1], text }, payload: { n } };
    });
    expect(await ask('PUT', '/collections/birds/points?wait=true', { points })).toMatchObject({
      status: 200,
    });
    await ask('PUT', '/collections/birds/index?wait=true', { field_name: 'n', field_schema: 'integer' });
    // The last thing that is done before the stop: the map that is saved has it.
    const alias = { create_alias: { collection_name: 'birds', alias_name: 'herons' } };
    expect(await ask('POST', '/collections/aliases', { actions: [alias] })).toMatchObject({ status: 200 });
  }

  it('C30.12 answers alone as before, changes nothing, and takes writes again in its cluster', async () => {
    await writeEverything();
    const before = await answers();
    expect(JSON.stringify(before)).toContain('"count":50');
    await server.stop();

    const files = contentOf(dataDir);
    server = await alone();
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    expect(await answers()).toEqual(before);
    expect(await login()).toMatch(/"token":"/);
    expect(await login('Wrong-Horse-Battery-7')).toContain('"token":null');
    expect((await ask('GET', '/collections', undefined, 'none')).status).toBe(401);
    const point = { points: [{ id: 99, vector: { '': [1, 1] } }] };
    const changes = [
      ['PUT', '/collections/birds/points', point],
      ['DELETE', '/collections/birds', undefined],
      ['PUT', '/collections/owls', { vectors: { size: 2, distance: 'Dot' } }],
      ['POST', '/collections/aliases', { actions: [{ delete_alias: { alias_name: 'herons' } }] }],
      ['POST', '/collections/birds/snapshots', undefined],
      ['POST', '/auth/access_token', { name: 'more', permission: 'read' }],
    ] as const;
    for (const [method, path, body] of changes) {
      const refused = await ask(method, path, body);
      expect([path, refused.status]).toEqual([path, 403]);
      expect(JSON.stringify(refused.body)).toMatch(/serves the directory of a node of .* alone/);
    }
    // The login of a user of the cluster is one here.
    const disabled = await ask('PATCH', '/auth/enabled', { enabled: false }, jwt);
    expect(disabled.status).toBe(403);
    expect(await answers()).toEqual(before);
    await server.stop();
    expect(contentOf(dataDir)).toEqual(files);

    server = await asNode();
    await eventually(answers, before);
    expect(await ask('PUT', '/collections/birds/points?wait=true', point)).toMatchObject({ status: 200 });
    const counted = await ask('POST', '/collections/herons/points/count', EXACT);
    expect(counted.body['result']).toEqual({ count: 51 });
  });
});
