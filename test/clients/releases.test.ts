import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { itUnless } from '../missing';
import { startGuardedServer, type GuardedServer } from './guarded-server';
import { connectJsClient, refusal, type JsClient } from './js-client';
import { python } from './python';

/** Earlier releases of the Python client, each to import from a folder of that name: the `python` step makes them. */
const releasesDir = join(__dirname, '..', '..', '.build', 'qdrant-client');
const releases = existsSync(releasesDir) ? readdirSync(releasesDir).sort() : [];

/**
 * Those that could not read any answer with `usage`, in the default dialect; the others, and all of them in the dialect
 * `qdrant`, are tried by `npm run test:long` (suite `clients`).
 */
const ALWAYS = ['1.13.3', '1.14.3'];
const triesAll = process.env['TESTED_CLIENTS'] === 'all';

/** Packages that are earlier releases of the JavaScript client. */
const JS_RELEASES = ['qdrant-js-1.12', 'qdrant-js-1.14', 'qdrant-js-1.16', '@qdrant/js-client-rest'];

/** Runs releases.py with one release before the one of the environment on the path. */
async function flow(
  release: string,
  url: string,
  token: string,
  dialect: string,
): Promise<{ release: string; calls: number }> {
  const script = join(__dirname, 'python', 'releases.py');
  const env = { ...process.env, PYTHONPATH: join(releasesDir, release) };
  const child = spawn(python, ['-B', script, url, token, dialect], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (err += chunk));
  await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
  if (!out.startsWith('{')) throw new Error(`releases.py failed with ${release}:\n${err}`);
  return JSON.parse(out) as { release: string; calls: number };
}

/** What answers in the dialect `qdrant` alone. */
async function jsGroups(client: JsClient): Promise<void> {
  const group = { query: [1, 0], using: 'v', group_by: 'n', limit: 1, group_size: 1 };
  const { groups } = await client.queryGroups('js', group);
  expect(groups.map(({ id, hits }) => [id, hits.map((hit) => hit.id)])).toEqual([[1, [1]]]);
  const actions = [{ create_alias: { collection_name: 'js', alias_name: 'latest' } }];
  expect(await client.updateCollectionAliases({ actions })).toBe(true);
  const alias = { alias_name: 'latest', collection_name: 'js' };
  expect((await client.getAliases()).aliases).toEqual([alias]);
  expect((await client.getCollectionAliases('js')).aliases).toEqual([alias]);
  expect((await client.count('latest')).count).toBe(3);
  const made = await client.createSnapshot('js');
  expect((await client.listSnapshots('js')).map(({ name }) => name)).toEqual([made?.name]);
  expect(await client.recoverSnapshot('js', { location: `file:///snapshots/${made?.name}` })).toBe(true);
  expect(await client.deleteSnapshot('js', made!.name)).toBe(true);
  expect(await client.retrieve('js', { ids: [77] })).toEqual([]);
}

/** What every release of the JavaScript client can do. */
async function jsFlow(client: JsClient, dialect: string): Promise<void> {
  const vectors = { v: { size: 2, distance: 'Dot' as const } };
  await client.createCollection('js', { vectors, sparse_vectors: { words: {} } });
  expect((await client.getCollections()).collections).toContainEqual({ name: 'js' });
  expect((await client.getCollection('js')).config.params.vectors).toMatchObject(vectors);
  await client.createPayloadIndex('js', { field_name: 'n', field_schema: 'integer', wait: true });
  const points = [1, 2, 3].map((n) => ({ id: n, vector: { v: [n, 1] }, payload: { n } }));
  expect((await client.upsert('js', { points, wait: true })).status).toBe('completed');
  await client.setPayload('js', { payload: { more: true }, points: [1], wait: true });
  await client.updateVectors('js', { points: [{ id: 1, vector: { v: [9, 1] } }], wait: true });
  const found = await client.query('js', { query: [1, 0], using: 'v', limit: 2, with_payload: true });
  expect(found.points.map(({ id, payload }) => [id, payload])).toEqual([
    [1, { n: 1, more: true }],
    [3, { n: 3 }],
  ]);
  const batch = await client.queryBatch('js', { searches: [{ query: [1, 0], using: 'v', limit: 1 }] });
  expect(batch.map(({ points: [hit] }) => hit?.id)).toEqual([1]);
  const page = await client.scroll('js', { limit: 2 });
  expect([page.points.length, page.next_page_offset]).toEqual([2, 3]);
  expect((await client.retrieve('js', { ids: [2] }))[0]).toMatchObject({ id: 2, payload: { n: 2 } });
  if (dialect === 'qdrant') await jsGroups(client);
  await client.delete('js', { points: [2], wait: true });
  expect((await client.count('js')).count).toBe(2);
  const sentence = {
    specification: 'Collection not found: absent',
    qdrant: "Not found: Collection `absent` doesn't exist!",
  }[dialect];
  expect(await refusal(client.getCollection('absent'))).toEqual([404, sentence]);
  expect(await client.deleteCollection('js')).toBe(true);
}

describe.each(['specification', 'qdrant'])(
  'releases of Qdrant’s clients, unchanged, in the dialect %s (C1.1, C9.1, C12)',
  (dialect) => {
    const folder = mkdtempSync(join(tmpdir(), 'kithdb-releases-'));
    let server: GuardedServer;
    let token: string;

    beforeAll(async () => {
      server = await startGuardedServer(join(folder, 'data'), ['--dialect', dialect]);
      token = await server.accessToken('read,write');
    });

    afterAll(async () => {
      expect(await server.stop()).toBe(0);
      rmSync(folder, { recursive: true, force: true });
    });

    const tried = triesAll ? releases : dialect === 'specification' ? ALWAYS : [];
    const missing = releases.length === 0 ? 'no Python environment (step python)' : undefined;
    if (triesAll || tried.length > 0) {
      itUnless(missing)(
        `C1.1 qdrant-client ${tried.join(', ')} reads every answer`,
        async () => {
          for (const release of tried) {
            const ran = await flow(release, server.url, token, dialect);
            expect(ran).toEqual({ release, calls: expect.any(Number) });
            // The oldest has no method for one of them.
            expect(ran.calls).toBeGreaterThanOrEqual(dialect === 'qdrant' ? 40 : 30);
          }
        },
        600_000,
      );
    }

    it.each(JS_RELEASES)(
      'C9.1 %s reads every answer',
      async (release) => {
        await jsFlow(await connectJsClient(server.url, token, release), dialect);
      },
      120_000,
    );
  },
);
