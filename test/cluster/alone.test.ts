/** The directory of a node, served without its cluster. */
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from '../../src';
import { openNativeEngine } from '../../src/engine';
import { checkDataDir } from '../../src/operations/check';
import { startServer, type TemporaryServer } from '../../src/temporary-server';
import { runCommand } from '../cli/run-command';
import { askHttp, type Answered } from './http-ask';
import { ADMIN_TOKEN, contentOf, NODE, POINTS, saveNode } from './saved-node';

let folder: string;
let dataDir: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-alone-test-'));
  dataDir = join(folder, 'node');
  await saveNode(dataDir);
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function serve(settings: Record<string, string> = {}, directory = dataDir): Promise<TemporaryServer> {
  return startServer({
    dataDir: directory,
    settings: { KITHDB_CLUSTER_ALONE: 'true', KITHDB_DIALECT: 'qdrant', ...settings },
  });
}

/** A copy of the directory, for what changes it. */
function copied(name: string): string {
  const copy = join(folder, name);
  cpSync(dataDir, copy, { recursive: true });
  return copy;
}

const ask = (
  server: TemporaryServer,
  method: string,
  path: string,
  body?: object,
  headers: Readonly<Record<string, string>> = { 'api-key': ADMIN_TOKEN },
): Promise<Answered> => askHttp(server, method, path, body, headers);

const EXACT = { exact: true };
/** The folders of temporary files that have a link into the data directory: other tests serve other directories. */
const workFolders = (): string[] =>
  readdirSync(tmpdir()).filter(
    (name) => name.startsWith('kithdb-served-copy-') && hasLink(join(tmpdir(), name)),
  );

function hasLink(path: string): boolean {
  try {
    return readdirSync(path, { recursive: true, withFileTypes: true }).some(
      (entry) =>
        entry.isSymbolicLink() && readlinkSync(join(entry.parentPath, entry.name)).startsWith(dataDir),
    );
  } catch {
    // It was removed meanwhile.
    return false;
  }
}

describe('the directory of a node that is served alone', () => {
  let server: TemporaryServer;
  let before: Readonly<Record<string, string>>;
  beforeAll(async () => {
    before = contentOf(dataDir);
    server = await serve();
  });
  afterAll(() => server.stop());

  it('C30.12 answers reads as its node did, by names and aliases', async () => {
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    expect((await ask(server, 'GET', '/collections')).result).toEqual({
      collections: [{ name: 'birds' }, { name: 'owls' }, { name: 'swans' }],
    });
    expect((await ask(server, 'GET', '/aliases')).result).toEqual({
      aliases: [{ alias_name: 'herons', collection_name: 'birds' }],
    });
    for (const name of ['birds', 'herons']) {
      const path = `/collections/${name}/points`;
      expect((await ask(server, 'POST', `${path}/count`, EXACT)).result).toEqual({ count: POINTS });
      const scrolled = await ask(server, 'POST', `${path}/scroll`, { limit: 2 });
      expect(scrolled.result).toMatchObject({ points: [{ id: 0 }, { id: 1 }], next_page_offset: 2 });
      const found = await ask(server, 'POST', `${path}/query`, { query: [1, 0], limit: 2 });
      expect(found.result).toMatchObject({ points: [{ id: POINTS - 1 }, { id: POINTS - 2 }] });
      const query = { text: 'heron', model: 'qdrant/bm25' };
      const texts = await ask(server, 'POST', `${path}/query`, { query, using: 'text', limit: POINTS });
      expect((texts.result as { points: unknown[] }).points).toHaveLength(POINTS / 2);
    }
    expect((await ask(server, 'GET', '/collections/birds')).result).toMatchObject({ points_count: POINTS });
    const copy = await ask(server, 'POST', '/collections/birds/points/projection', {});
    expect(copy).toMatchObject({ status: 400 });
  });

  it('C30.12 knows the tokens of its cluster, and nobody else', async () => {
    expect(await ask(server, 'GET', '/collections', undefined, {})).toMatchObject({ status: 401 });
    expect(await ask(server, 'GET', '/collections', undefined, { 'api-key': 'x' })).toMatchObject({
      status: 401,
    });
  });

  it.each([
    ['PUT', '/collections/birds/points', { points: [{ id: 1, vector: [1, 1] }] }],
    ['POST', '/collections/birds/points/delete', { points: [1] }],
    ['PATCH', '/collections/birds', { strict_mode_config: { enabled: true } }],
    ['PUT', '/collections/more', { vectors: { size: 2, distance: 'Dot' } }],
    ['DELETE', '/collections/birds', undefined],
    ['PUT', '/collections/birds/index', { field_name: 'n', field_schema: 'integer' }],
    ['POST', '/collections/aliases', { actions: [{ delete_alias: { alias_name: 'herons' } }] }],
    ['POST', '/collections/birds/snapshots', undefined],
    ['DELETE', '/cluster/peer/1', undefined],
  ])('C30.12 refuses a change: %s %s', async (method, path, body) => {
    expect(await ask(server, method, path, body)).toMatchObject({
      status: 403,
      error: expect.stringMatching(/failed: .*serves the directory of a node of the cluster birds alone/),
    });
  });

  it('C30.12 says which shards it has, how far they are, and that it hears of nobody', async () => {
    const { result } = await ask(server, 'GET', '/cluster');
    const { peers } = result as { peers: Record<string, { node: string; state: string }> };
    expect(result).toMatchObject({
      status: 'enabled',
      raft_info: { commit: 9, leader: null, is_voter: false },
      consensus_thread_status: { consensus_thread_status: 'stopped' },
    });
    const states = Object.values(peers).map(({ node, state }) => [node === NODE, state]);
    expect(states).toEqual([
      [true, 'live'],
      [false, 'silent'],
    ]);
    const shards = (await ask(server, 'GET', '/collections/birds/cluster')).result;
    expect(shards).toMatchObject({
      shard_count: 2,
      local_shards: [
        { shard_id: 0, position: 7, state: 'Active' },
        { shard_id: 1, position: 7, state: 'Active' },
      ],
    });
    expect(JSON.stringify(shards)).not.toContain('behind');
    const metrics = await fetch(`${server.url}/metrics`, { headers: { 'api-key': ADMIN_TOKEN } });
    expect(await metrics.text()).toMatch(/^kithdb_cluster_map_version 9$/m);
  });

  it('C30.4, C30.12 answers a read that wants a later write with 408 at once', async () => {
    const headers = { 'api-key': ADMIN_TOKEN, 'KithDB-Position': '0:7:0.1' };
    const count = '/collections/birds/points/count';
    expect(await ask(server, 'POST', count, EXACT, headers)).toMatchObject({ result: { count: POINTS } });
    const later = { ...headers, 'KithDB-Position': '1:8:0.1' };
    expect(await ask(server, 'POST', count, EXACT, later)).toMatchObject({
      status: 408,
      error: expect.stringContaining('the replica is at 7, before 8'),
    });
  });

  it.each(['owls', 'swans'])('C30.5, C30.12 leaves out shards that it does not have: %s', async (name) => {
    const count = `/collections/${name}/points/count`;
    expect(await ask(server, 'POST', count, EXACT)).toMatchObject({
      status: 503,
      error: expect.stringContaining('no replica of shard 1'),
    });
    const partial = await ask(server, 'POST', `${count}?allow_partial=true`, EXACT);
    expect(partial.status).toBe(200);
    expect(partial.headers.get('kithdb-missing-shards')).toBe('1');
    const { count: found } = partial.result as { count: number };
    expect(found).toBeGreaterThan(0);
    expect(found).toBeLessThan(POINTS);
  });

  it('C30.5 kithdb collections lists them all, and says which lack shards', async () => {
    const list = (...flags: string[]) =>
      runCommand(['collections', '--url', server.url, ...flags], { KITHDB_TOKEN: ADMIN_TOKEN });
    const { code, out } = await list('--json');
    expect(code).toBe(3);
    const incomplete = { status: 'incomplete', indexed_vectors: null, missing_shards: [1] };
    const rows = JSON.parse(out) as { readonly points: number }[];
    expect(rows).toEqual([
      { name: 'birds', status: 'green', points: POINTS, indexed_vectors: expect.any(Number) },
      { name: 'owls', ...incomplete, points: expect.any(Number) },
      { name: 'swans', ...incomplete, points: expect.any(Number) },
    ]);
    expect(rows[1]!.points).toBeLessThan(POINTS);
    expect((await list()).out).toMatch(/^owls +incomplete: without shard 1 +\d+ +-$/m);
  });

  it('keeps its node, and a second server, from the directory', async () => {
    await expect(serve()).rejects.toThrow(/in use by process/);
    await expect(openNativeEngine({ dataDir, isReplica: true }).open()).rejects.toThrow(/in use by process/);
  });

  it('C30.12 has changed nothing when it stops, and leaves nothing behind', async () => {
    expect(workFolders()).toHaveLength(1);
    await server.stop();
    expect(contentOf(dataDir)).toEqual(before);
    expect(workFolders()).toEqual([]);
    expect(await checkDataDir(dataDir, undefined)).toMatchObject({ clean: true });
  });
});

describe('a directory that cannot be served alone', () => {
  it('is one of a server by itself, or a node whose map is not saved', async () => {
    await expect(serve({}, join(folder, 'new'))).rejects.toThrow(/no directory of a node of a cluster/);
    expect(existsSync(join(folder, 'new'))).toBe(false);
    const other = copied('other');
    const map = join(other, 'cluster-map.json');
    const text = readFileSync(map, 'utf8');
    rmSync(map);
    await expect(serve({}, other)).rejects.toThrow(/does not have the shard map \(there is no such file\)/);
    writeFileSync(map, text.replace('"birds"', '"bards"'));
    await expect(serve({}, other)).rejects.toThrow(/cluster-map.json is damaged/);
    writeFileSync(map, '{"format":1,"created":"2026","lastSequence":9}');
    await expect(serve({}, other)).rejects.toThrow(/an earlier release wrote it/);
    writeFileSync(map, text.replace('"format":2', '"format":3'));
    await expect(serve({}, other)).rejects.toThrow(/which a later release of KithDB wrote/);
  });

  it('is one that knows nothing of authentication, unless that was decided to be off', async () => {
    const memory = { KITHDB_TOKEN_STORE: 'memory' };
    await expect(serve(memory)).rejects.toThrow(/no store of authentication that followed its cluster/);
    const open = await serve({ ...memory, KITHDB_AUTH_ENABLED: 'false' });
    const count = await ask(open, 'POST', '/collections/birds/points/count', EXACT, {});
    expect(count.result).toEqual({ count: POINTS });
    await open.stop();
  });

  it('is one whose settings would change an access token', async () => {
    const settings = { KITHDB_ACCESS_TOKEN: 'another-token-that-is-long-enough-too' };
    await expect(serve(settings)).rejects.toThrow(/would change the admin, the access tokens/);
  });

  it('is said by who opens it otherwise', async () => {
    await expect(startServer({ dataDir })).rejects.toThrow(/serve it read-only with --cluster-alone/);
    await expect(open(dataDir)).rejects.toThrow(/kithdb serve --cluster-alone/);
  });
});
