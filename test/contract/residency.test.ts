import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { itUnless } from '../missing';
import { until } from '../until';
import { ContractServer, type Json } from './contract-server';

/** A server whose collections sleep as soon as nobody has used them for a second. */
let server: ContractServer;
beforeAll(async () => {
  server = await ContractServer.start([], {
    KITHDB_RESIDENCY_IDLE_SECONDS: '1',
    KITHDB_METRICS_COLLECTIONS: '9',
  });
});
afterAll(() => server.stop());

const SIZE = 32;
const CONFIG = { vectors: { size: SIZE, distance: 'Euclid' } };
const POINTS = 500;

async function filled(name: string, more: object = {}): Promise<string> {
  const path = await server.collection(name, { ...CONFIG, ...more });
  const points = Array.from({ length: POINTS }, (_, id) => ({
    id,
    vector: Array.from({ length: SIZE }, (_, at) => ((id * 7 + at * 13) % 101) / 100),
    payload: { n: id },
  }));
  await server.ok('PUT', `${path}/points`, { points });
  return path;
}

const info = (path: string): Promise<Json> => server.ok('GET', path);
const residency = async (path: string): Promise<Json> => (await info(path)).residency;
const metric = async (name: string): Promise<number> => {
  const line = new RegExp(`^${name} (\\S+)$`, 'm').exec((await server.call('GET', '/metrics')).text);
  return Number(line?.[1]);
};

/** How often collections have woken. A report is at most a second old. */
const wakes = (): Promise<number> => metric('kithdb_wake_duration_seconds_count');

/** Waits until it sleeps, by requests that do not wake it. */
async function asleep(path: string): Promise<void> {
  await until(async () => (await residency(path)).state === 'asleep');
}

/** The folder of the collection that was created last. A checkpoint makes it, so there is one once the collection has slept. */
function lastFolder(): string {
  const collections = join(server.dataDir, 'collections');
  const folders = readdirSync(collections).filter((name) => /^[0-9a-f]{16}$/.test(name));
  return join(collections, folders.sort().at(-1)!);
}

const search = { vector: Array.from({ length: SIZE }, () => 0.5), limit: 5 };

describe('C24 residency', () => {
  it('C24 a collection that is not used gives its memory back, and a search wakes it', async () => {
    const path = await filled('sleeper');
    await server.ok('PUT', `${path}/index?wait=true`, { field_name: 'n', field_schema: 'integer' });
    const found = await server.ok('POST', `${path}/points/search`, search);
    const before = await info(path);
    expect(before.residency).toEqual({
      setting: 'auto',
      state: 'awake',
      resident_bytes: before.size.memory_bytes,
      opened_ms: before.residency.opened_ms,
    });
    // A number where a busy machine has let it sleep already.
    expect(before.residency.opened_ms ?? 0).toEqual(expect.any(Number));
    expect(before.size.memory_bytes).toBeGreaterThan(10_000);
    await asleep(path);
    const { residency: where, size, ...rest } = await info(path);
    expect(where).toEqual({ setting: 'auto', state: 'asleep', resident_bytes: 0, opened_ms: null });
    expect(size).toEqual({ memory_bytes: 0, disk_bytes: expect.any(Number) });
    expect(rest).toEqual({ ...before, residency: undefined, size: undefined });
    // On a busy machine it may sleep again before it is looked at.
    let awake: Json;
    await until(async () => {
      expect(await server.ok('POST', `${path}/points/search`, search)).toEqual(found);
      awake = await residency(path);
      return awake.state === 'awake';
    });
    expect(awake.opened_ms).toEqual(expect.any(Number));
    expect(awake.resident_bytes).toBeGreaterThan(10_000);
  });

  it('C24 the info, the list, exists, aliases and metrics do not wake it', async () => {
    const path = await filled('told');
    await asleep(path);
    const names = (await server.ok('GET', '/collections')).collections.map(({ name }: Json) => name);
    expect(names).toContain('told');
    expect(await server.ok('GET', `${path}/exists`)).toEqual({ exists: true });
    await until(async () => (await metric('kithdb_collection_points\\{collection="told"\\}')) === POINTS);
    // A text is kept for a second, and may be from before.
    await until(async () => (await metric('kithdb_collection_memory_bytes\\{collection="told"\\}')) === 0);
    await until(async () => (await metric('kithdb_asleep_collections')) > 0);
    expect((await residency(path)).state).toBe('asleep');
    const woken = await wakes();
    await server.ok('POST', `${path}/points`, { ids: [1] });
    await until(async () => (await wakes()) > woken);
    await server.ok('DELETE', path);
  });

  it('C24 every kind of request for points, and a change, wakes it', async () => {
    const path = await filled('woken');
    const requests: [string, string, object?][] = [
      ['POST', `${path}/points/count`, {}],
      ['GET', `${path}/points/7`],
      ['PUT', `${path}/points`, { points: [{ id: 9, vector: search.vector }] }],
      ['PATCH', path, { metadata: { a: 1 } }],
    ];
    for (const [method, url, body] of requests) {
      await asleep(path);
      const woken = await wakes();
      await server.ok(method, url, body);
      await until(async () => (await wakes()) > woken);
    }
    await asleep(path);
    expect((await server.ok('POST', `${path}/points/count`)).count).toBe(POINTS);
  });

  it('C24 a hot collection stays awake, also over a restart, and PATCH changes that', async () => {
    const [hot, auto] = [await filled('hot', { residency: 'hot' }), await filled('auto')];
    await asleep(auto);
    expect(await residency(hot)).toMatchObject({ setting: 'hot', state: 'awake' });
    await server.restart();
    expect(await residency(hot)).toMatchObject({ state: 'awake', opened_ms: expect.any(Number) });
    await server.ok('PATCH', hot, { residency: null });
    expect((await residency(hot)).setting).toBe('auto');
    await asleep(hot);
    await server.ok('PATCH', hot, { residency: 'hot' });
    expect(await residency(hot)).toMatchObject({ setting: 'hot', state: 'awake' });
    expect((await server.refused('PATCH', hot, { residency: 'cold' }))[0]).toBe(400);
    expect((await server.refused('PUT', '/collections/other', { ...CONFIG, residency: 1 }))[0]).toBe(400);
  });

  it('C24 C10.2 damage of a collection that sleeps quarantines it alone, when it wakes', async () => {
    const [sound, path] = [await filled('sound'), await filled('damaged')];
    await asleep(sound);
    await asleep(path);
    const folder = lastFolder();
    for (const name of readdirSync(folder).filter((one) => one.endsWith('.data'))) {
      const bytes = readFileSync(join(folder, name));
      bytes[bytes.length >> 1]! ^= 1;
      writeFileSync(join(folder, name), bytes);
    }
    expect(await info(path)).toMatchObject({ status: 'green', points_count: POINTS });
    const [status, message] = await server.refused('POST', `${path}/points/search`, search);
    expect([status, message]).toEqual([500, expect.stringContaining('kithdb check')]);
    expect(await info(path)).toMatchObject({ status: 'red' });
    expect(await info(path)).not.toHaveProperty('residency');
    expect((await server.ok('POST', `${sound}/points/search`, search)).length).toBe(5);
    await server.ok('DELETE', path);
  });

  const noPipes = process.platform === 'win32' ? 'Windows has no pipes in folders' : undefined;
  itUnless(noPipes)(
    'C24 C1.5 a request that cannot be served within its timeout is a 408, and the wake goes on',
    async () => {
      const other = await filled('other');
      const path = await filled('slow');
      await asleep(path);
      const manifest = join(lastFolder(), 'MANIFEST');
      const kept = readFileSync(manifest);
      rmSync(manifest);
      // Opening a pipe blocks until a writer comes.
      execFileSync('mkfifo', [manifest]);
      const [status, message] = await server.refused('POST', `${path}/points/search?timeout=1`, search);
      expect([status, message]).toEqual([408, expect.stringContaining('timed out after 1 seconds')]);
      expect((await residency(path)).state).toBe('waking');
      expect((await server.ok('POST', `${other}/points/count`)).count).toBe(POINTS);
      writeFileSync(manifest, kept);
      expect((await server.ok('POST', `${path}/points/search`, search)).length).toBe(5);
      await server.ok('DELETE', path);
    },
  );

  it('C24 an empty collection takes at most 16 KiB of the disk', async () => {
    const path = await server.collection('empty', CONFIG);
    await asleep(path);
    const folder = lastFolder();
    const blocks = [folder, ...readdirSync(folder).map((name) => join(folder, name))];
    const bytes = blocks.reduce((sum, one) => sum + statSync(one).blocks * 512, 0);
    expect(bytes).toBeLessThanOrEqual(16 * 1024);
    expect((await server.ok('POST', `${path}/points/count`)).count).toBe(0);
  });

  it('C24 a start opens the collections that were written last, and leaves the others asleep', async () => {
    const names = Array.from({ length: 70 }, (_, at) => `many-${String(at).padStart(2, '0')}`);
    for (const name of names) {
      const path = await server.collection(name, { vectors: { size: 1, distance: 'Dot' } });
      await server.ok('PUT', `${path}/points`, { points: [{ id: 1, vector: [1] }] });
    }
    await server.restart();
    const states = new Map<string, string>();
    for (const name of names) states.set(name, (await residency(`/collections/${name}`)).state);
    expect([states.get('many-00'), states.get('many-05')]).toEqual(['asleep', 'asleep']);
    expect((await info('/collections/many-00')).points_count).toBe(1);
    for (const name of names) {
      expect((await server.ok('POST', `/collections/${name}/points/count`)).count).toBe(1);
    }
  });
});
