import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { basename, join } from 'node:path';
import { connect } from '../../src';
import { checkEngineFiles } from '../../src/engine/offline';
import { makeBackup } from '../../src/operations/backup';
import { ContractServer, type Json } from './contract-server';

const PASSWORD = 'A long enough password 1!';

/** A tar of these entries, as any tool would write it. */
function tarOf(
  entries: readonly { name: string; type?: string; body?: Buffer; link?: string; size?: number }[],
): Buffer {
  const blocks: Buffer[] = [];
  for (const { name, type = '0', body = Buffer.alloc(0), link = '', size = body.length } of entries) {
    const head = Buffer.alloc(512);
    head.write(name, 0, 100);
    head.write('0000600\0', 100);
    head.write('0000000\0', 108);
    head.write('0000000\0', 116);
    head.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
    head.write('00000000000\0', 136);
    head.write('        ', 148);
    head.write(type, 156);
    head.write(link, 157, 100);
    head.write('ustar\u000000', 257);
    const sum = head.reduce((total, byte) => total + byte, 0);
    head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    blocks.push(head, body, Buffer.alloc((512 - (body.length % 512)) % 512));
  }
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

describe('C12 snapshots in the dialect qdrant', () => {
  let server: ContractServer;
  const url = (): string => `http://127.0.0.1:${server.port}`;

  beforeAll(async () => {
    server = await ContractServer.start(['--dialect', 'qdrant', '--max-snapshots', '12']);
    await server.collection('there');
  });
  afterAll(() => server.stop());

  const points = (...ids: number[]): object => ({
    points: ids.map((id) => ({ id, vector: [id, 1], payload: { n: id } })),
  });
  const idsIn = async (path: string): Promise<string[]> => Object.keys(await server.pointsOf(path));

  const download = async (path: string): Promise<Buffer> => {
    const answer = await fetch(url() + path);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/x-tar']);
    return Buffer.from(await answer.arrayBuffer());
  };

  const upload = async (
    path: string,
    file: Buffer,
    { query = '', part = 'snapshot' } = {},
  ): Promise<[status: number, body: Json]> => {
    const form = new FormData();
    form.append(part, new Blob([new Uint8Array(file)]), 'any.snapshot');
    const answer = await fetch(`${url()}${path}/snapshots/upload${query}`, { method: 'POST', body: form });
    return [answer.status, await answer.json()];
  };

  /** No work of a snapshot is left behind. */
  const mustBeTidy = (): void => {
    const root = join(server.dataDir, 'snapshots');
    expect(readdirSync(join(root, 'unfinished'))).toEqual([]);
    expect(readdirSync(join(server.dataDir, 'collections')).length).toBeLessThan(20);
  };

  it('C12 makes, lists, sends and deletes one of a collection', async () => {
    const path = await server.collection('kept');
    await server.ok('PUT', `${path}/points`, points(1, 2, 3));
    expect(await server.ok('GET', `${path}/snapshots`)).toEqual([]);
    const made = await server.ok('POST', `${path}/snapshots`);
    const second = await server.ok('POST', `${path}/snapshots?wait=true`);
    expect(made.name).toMatch(/^kept-\d{20}-\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d\.snapshot$/);
    expect(made.creation_time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/);
    expect(second.name).not.toBe(made.name);
    const names = (await server.ok('GET', `${path}/snapshots`)).map(({ name }: Json) => name);
    expect([...names].sort()).toEqual([made.name, second.name].sort());
    const file = await download(`${path}/snapshots/${made.name}`);
    expect(file.length).toBe(made.size);
    expect(createHash('sha256').update(file).digest('hex')).toBe(made.checksum);
    expect(await server.ok('DELETE', `${path}/snapshots/${made.name}`)).toBe(true);
    expect(await server.ok('GET', `${path}/snapshots`)).toEqual([second]);
    const absent = `${path}/snapshots/${made.name}`;
    for (const [method, rest] of [
      ['GET', ''],
      ['DELETE', ''],
      ['PUT', '/recover'],
    ] as const) {
      expect((await server.refused(method, absent + rest))[0]).toBe(404);
    }
    expect((await server.refused('POST', '/collections/absent/snapshots'))[0]).toBe(404);
    expect((await server.refused('GET', '/collections/absent/snapshots'))[0]).toBe(404);
    // Any tar reads it, and nothing of authentication is in it.
    writeFileSync(join(server.dataDir, 'out.tar'), file);
    const listed = execFileSync('tar', ['-tf', join(server.dataDir, 'out.tar')], { encoding: 'utf8' });
    expect(listed.trim().split('\n').slice(0, 2)).toEqual(['snapshot.json', '1/00000001.data']);
    expect(listed).not.toContain('auth');
    mustBeTidy();
  });

  it('C12 a recovery replaces the collection at once, makes an absent one, and is there after a restart', async () => {
    const path = await server.collection('life', {
      vectors: { size: 2, distance: 'Dot' },
      optimizers_config: { indexing_threshold: 1 },
    });
    await server.ok('PUT', `${path}/points`, points(1, 2, 3));
    await server.ok('PUT', `${path}/index`, { field_name: 'n', field_schema: 'integer' });
    const { name, checksum } = await server.ok('POST', `${path}/snapshots`);
    await server.ok('POST', `${path}/points/delete`, { points: [1, 2] });
    await server.ok('PUT', `${path}/points`, points(7));
    const recover = (where: string, body: object): Promise<Json> =>
      server.ok('PUT', `${where}/snapshots/recover`, body);
    expect(await recover(path, { location: name, priority: 'snapshot', checksum })).toBe(true);
    expect(await idsIn(path)).toEqual(['1', '2', '3']);
    await server.ok('PUT', `${path}/points`, points(8));
    // As Qdrant's clients write it, and into another collection.
    const file = `file:///qdrant/snapshots/life/${name}`;
    expect(await recover('/collections/other', { location: file })).toBe(true);
    await server.ok('DELETE', path);
    expect(await server.ok('GET', `${path}/snapshots`)).toHaveLength(1);
    expect(await server.ok('PUT', `${path}/snapshots/${name}/recover`)).toBe(true);
    await server.restart();
    for (const where of [path, '/collections/other']) {
      expect(await idsIn(where)).toEqual(['1', '2', '3']);
      expect((await server.ok('GET', where)).payload_schema.n.points).toBe(3);
    }
    const [answer] = [await server.call('PUT', `${path}/snapshots/recover`, { location: name, shard: 1 })];
    expect(answer.body).toMatchObject({
      result: true,
      warnings: [{ message: 'shard: unknown field, ignored' }],
    });
    mustBeTidy();
  });

  it('C12 an upload does the same, and what is damaged or foreign is a 400 that changes nothing', async () => {
    const path = await server.collection('sent');
    await server.ok('PUT', `${path}/points`, points(1, 2));
    const { name, checksum } = await server.ok('POST', `${path}/snapshots`);
    const file = await download(`${path}/snapshots/${name}`);
    await server.ok('PUT', `${path}/points`, points(3));
    const before = await server.everything(path);
    const index = (change: object): Buffer =>
      Buffer.from(
        JSON.stringify({
          ...{ kithdb_snapshot: 1, kind: 'collection', kithdb_version: '0.1.0', created_at: 'now' },
          collections: [{ name: 'sent', folder: '1', files: [{ name: 'MANIFEST', bytes: 4 }] }],
          ...change,
        }),
      );
    const evil = (files: object[], folder = '1'): object => ({ collections: [{ name: 'x', folder, files }] });
    const four = Buffer.from('abcd');
    const hostile: [string, Buffer, string][] = [
      ['no tar', Buffer.from('nothing of the kind'), 'no tar archive'],
      ['a cut off one', file.subarray(0, file.length - 3000), ''],
      ['an empty one', Buffer.alloc(1024), 'ends too early'],
      ['one of another tool', tarOf([{ name: 'a', body: four }]), 'first entry'],
      ['an index that is no JSON', tarOf([{ name: 'snapshot.json', body: four }]), 'not JSON'],
      [
        'a later format',
        tarOf([{ name: 'snapshot.json', body: index({ kithdb_snapshot: 2 }) }]),
        'of this release',
      ],
      [
        'one of all',
        tarOf([{ name: 'snapshot.json', body: index({ kind: 'all' }) }]),
        'one of all collections',
      ],
      [
        'a path that leads out',
        tarOf([{ name: 'snapshot.json', body: index(evil([{ name: '../../x', bytes: 4 }])) }]),
        'of this release',
      ],
      [
        'a folder that leads out',
        tarOf([{ name: 'snapshot.json', body: index(evil([{ name: 'MANIFEST', bytes: 4 }], '..')) }]),
        'of this release',
      ],
      [
        'an entry that leads out',
        tarOf([
          { name: 'snapshot.json', body: index({}) },
          { name: '../MANIFEST', body: four },
        ]),
        'not what its index says',
      ],
      [
        'a link',
        tarOf([
          { name: 'snapshot.json', body: index({}) },
          { name: '1/MANIFEST', type: '2', link: '/etc/passwd' },
        ]),
        'is no file',
      ],
      [
        'a hard link',
        tarOf([
          { name: 'snapshot.json', body: index({}) },
          { name: '1/MANIFEST', type: '1', link: '../../../auth.sqlite3' },
        ]),
        'is no file',
      ],
      [
        'one that says it is larger than any disk',
        tarOf([{ name: 'snapshot.json', body: index(evil([{ name: 'MANIFEST', bytes: 2 ** 52 }])) }]),
        'max_snapshot_bytes',
      ],
      [
        'one that would not fit',
        tarOf([{ name: 'snapshot.json', body: index(evil([{ name: 'MANIFEST', bytes: 2 ** 39 }])) }]),
        'storage full',
      ],
      [
        'more than the index says',
        tarOf([
          { name: 'snapshot.json', body: index({}) },
          { name: '1/MANIFEST', body: Buffer.concat([four, four]) },
        ]),
        'not what its index says',
      ],
      [
        'a manifest that is none',
        tarOf([
          { name: 'snapshot.json', body: index({}) },
          { name: '1/MANIFEST', body: four },
        ]),
        'MANIFEST',
      ],
    ];
    // A flipped byte in each kind of part: the manifest, and the data.
    for (const at of [file.indexOf('KITHMANI') + 40, file.indexOf('KITHDATA') + 70]) {
      const flipped = Buffer.from(file);
      flipped.writeUInt8(flipped.readUInt8(at) ^ 1, at);
      hostile.push([`a flipped byte at ${at}`, flipped, 'cannot be used']);
    }
    for (const [what, bytes, message] of hostile) {
      const [status, body] = await upload(path, bytes);
      expect([what, status]).toEqual([what, message === 'storage full' ? 507 : 400]);
      expect([what, body.status.error]).toEqual([what, expect.stringContaining(message)]);
    }
    expect((await upload(path, file, { query: `?checksum=${'0'.repeat(64)}` }))[0]).toBe(400);
    expect((await upload(path, file, { query: '?checksum=short' }))[0]).toBe(400);
    expect((await upload(path, file, { query: '?priority=none' }))[0]).toBe(400);
    expect(await upload(path, file, { part: 'other' })).toEqual([
      400,
      expect.objectContaining({ status: { error: 'The form has no file snapshot' } }),
    ]);
    expect((await server.raw('POST', `${path}/snapshots/upload`, '{}')).status).toBe(415);
    expect((await upload('/collections/a%3Ab', file))[0]).toBe(400);
    expect(await server.everything(path)).toEqual(before);
    mustBeTidy();

    expect((await upload(path, file, { query: `?checksum=${checksum}&wait=true` }))[0]).toBe(200);
    expect(await idsIn(path)).toEqual(['1', '2']);
    expect((await upload('/collections/new%20one', file))[0]).toBe(200);
    expect(await idsIn('/collections/new%20one')).toEqual(['1', '2']);
    mustBeTidy();
  });

  it.each([
    ['http://127.0.0.1:1/x.snapshot', 'never from a URL'],
    ['https://example.org/x.snapshot', 'never from a URL'],
    ['file:///etc/passwd', 'not found'],
    ['../../auth.sqlite3', 'never from a URL'],
    ['..', 'not found'],
    ['', 'not found'],
  ])('C12 a recovery from %s is refused', async (location, message) => {
    const [status, said] = await server.refused('PUT', '/collections/there/snapshots/recover', { location });
    expect([status, said]).toEqual([message === 'not found' ? 404 : 400, expect.stringContaining(message)]);
  });

  it.each([
    ['{', 'not valid JSON'],
    ['[]', 'expected an object'],
    ['{}', 'Missing required field: location'],
    ['{"location":7}', 'location: expected a string'],
    ['{"location":"x","checksum":"y"}', 'checksum'],
    ['{"location":"x","priority":"y"}', 'priority'],
  ])('C12 a recovery with the body %s is a 400', async (body, message) => {
    const refused = await server.refused('PUT', '/collections/there/snapshots/recover', body);
    expect(refused).toEqual([400, expect.stringContaining(message)]);
  });

  it('C12 there is a limit on their number, and no backup has them', async () => {
    const path = await server.holding([]);
    const kept = await server.ok('POST', `${path}/snapshots`);
    const made: string[] = [];
    let refused: [number, string] | undefined;
    while (refused === undefined && made.length < 20) {
      const answer = await server.call('POST', `${path}/snapshots`);
      if (answer.status === 200) made.push(answer.body.result.name as string);
      else refused = [answer.status, answer.body.status.error as string];
    }
    expect(refused).toEqual([400, 'At most 12 snapshots (max_snapshots): delete those that nobody needs']);
    for (const name of made) await server.ok('DELETE', `${path}/snapshots/${name}`);
    expect(await server.ok('GET', `${path}/snapshots`)).toEqual([kept]);
    const to = join(server.dataDir, '..', `${Date.now()}-backup`);
    await makeBackup({ dataDir: server.dataDir, to, tokenStore: 'memory', removesPart: true });
    expect(readFileSync(join(to, 'BACKUP.json'), 'utf8')).not.toContain('snapshots/');
    execFileSync('rm', ['-r', to]);
  });

  it('C12 what a process that ended has left is removed at a start, and nothing else', async () => {
    const path = await server.holding([]);
    const kept = await server.ok('POST', `${path}/snapshots`);
    await server.halt();
    const left = join(server.dataDir, 'snapshots', 'unfinished', 'x');
    mkdirSync(left, { recursive: true });
    symlinkSync(server.dataDir, join(left, 'a link'));
    expect((await checkEngineFiles(server.dataDir)).findings).toEqual([]);
    await server.restart();
    expect(readdirSync(join(server.dataDir, 'snapshots', 'unfinished'))).toEqual([]);
    expect(await server.ok('GET', `${path}/snapshots`)).toEqual([kept]);
  });

  it('C12 one of all fails where a collection is quarantined, and names it', async () => {
    await server.ok('POST', '/collections/there/operations/flush');
    const folders = (): string[] => readdirSync(join(server.dataDir, 'collections'));
    const before = folders();
    const path = await server.holding([{ id: 1, vector: [1, 2] }]);
    expect(await server.ok('POST', `${path}/operations/flush`)).toBe(true);
    await server.halt();
    const [folder = ''] = folders().filter((name) => !before.includes(name));
    writeFileSync(join(server.dataDir, 'collections', folder, 'MANIFEST'), 'nothing of the kind');
    await server.restart();
    const [status, said] = await server.refused('POST', '/snapshots');
    expect([status, said]).toEqual([
      500,
      expect.stringMatching(new RegExp(`^Snapshot operation failed: collection ${basename(path)}: .`)),
    ]);
    expect(await server.ok('GET', '/snapshots')).toEqual([]);
    expect(readdirSync(join(server.dataDir, 'snapshots', 'unfinished'))).toEqual([]);
    await server.ok('DELETE', path);
  });
});

describe('C12 snapshots of all collections', () => {
  let server: ContractServer;
  beforeAll(async () => {
    const env = { KITHDB_ADMIN_PASSWORD: PASSWORD, KITHDB_AUTH_ENABLED: 'true' };
    server = await ContractServer.start(['--dialect', 'qdrant'], env);
  });
  afterAll(() => server.stop());

  it('C12 need the admin JWT to be sent and to be recovered, and leave others and authentication alone', async () => {
    const url = `http://127.0.0.1:${server.port}`;
    const { token } = await connect(url).login(PASSWORD);
    const admin = connect(url, { token });
    const issued = await admin.createAccessToken({ name: 'rw', permission: 'read,write' });
    const reading = await admin.createAccessToken({ name: 'r', permission: 'read' });
    const client = connect(url, { token: issued.token });
    for (const name of ['a', 'b']) {
      await client.createCollection(name, { vectors: { size: 2, distance: 'Dot' } });
      await client.upsert(name, { points: [{ id: 1, vector: [1, 2] }] });
    }
    const made = await client.createFullSnapshot();
    expect(await client.listFullSnapshots()).toEqual([made]);
    await client.upsert('a', { points: [{ id: 2, vector: [1, 2] }] });
    await client.deleteCollection('b');
    await client.createCollection('c', { vectors: { size: 2, distance: 'Dot' } });
    await expect(client.recoverFullSnapshot({ location: made.name })).rejects.toMatchObject({ status: 403 });
    const reader = connect(url, { token: reading.token });
    await expect(reader.createSnapshot('a')).rejects.toMatchObject({ status: 403 });
    await expect(reader.createFullSnapshot()).rejects.toMatchObject({ status: 403 });
    const get = (bearer: string): Promise<Response> =>
      fetch(`${url}/snapshots/${made.name}`, { headers: { authorization: `Bearer ${bearer}` } });
    expect((await get(issued.token)).status).toBe(403);
    const file = Buffer.from(await (await get(token)).arrayBuffer());
    expect(createHash('sha256').update(file).digest('hex')).toBe(made.checksum);
    expect(await admin.recoverFullSnapshot({ location: made.name })).toBe(true);
    expect(await client.count('a')).toEqual({ count: 1 });
    expect(await client.count('b')).toEqual({ count: 1 });
    expect(await client.count('c')).toEqual({ count: 0 });
    expect(await admin.listAccessTokens()).toHaveLength(2);
    // One of a collection has none of the others.
    const one = await client.createSnapshot('a', { wait: true });
    await expect(admin.recoverFullSnapshot({ location: one.name })).rejects.toMatchObject({ status: 404 });
    await client.upsert('a', { points: [{ id: 5, vector: [1, 2] }] });
    expect(await client.recoverSnapshot('a', { location: one.name })).toBe(true);
    expect(await client.count('a')).toEqual({ count: 1 });
    expect(await client.listSnapshots('a')).toEqual([one]);
    expect(await client.deleteSnapshot('a', one.name)).toBe(true);
    await expect(client.deleteSnapshot('a', one.name)).rejects.toMatchObject({ status: 404 });
    expect(await client.deleteFullSnapshot(made.name)).toBe(true);
    await Promise.all([admin, client, reader].map((each) => each.close()));
  });

  it('C12 have collections whatever their names', async () => {
    const url = `http://127.0.0.1:${server.port}`;
    const { token } = await connect(url).login(PASSWORD);
    const admin = connect(url, { token });
    const { token: value } = await admin.createAccessToken({ name: 'names', permission: 'read,write' });
    const client = connect(url, { token: value });
    const name = 'Vögel 日本';
    await client.createCollection(name, { vectors: { size: 2, distance: 'Dot' } });
    await client.upsert(name, { points: [{ id: 1, vector: [1, 2] }] });
    const made = await client.createFullSnapshot();
    await client.deleteCollection(name);
    expect(await admin.recoverFullSnapshot({ location: made.name })).toBe(true);
    expect(await client.count(name)).toEqual({ count: 1 });
    await Promise.all([admin, client].map((each) => each.close()));
  });
});
