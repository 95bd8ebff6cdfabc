import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { send, type Answer } from '../http/harness';
import { ContractServer, idsOf } from './contract-server';
import { endpoints } from './endpoints';

const PASSWORD = 'Correct-horse-7-staple';

describe('C8 what this build does not have', () => {
  const GROUPS: [group: string, requests: string[]][] = [
    ['aliases', ['GET /aliases', 'POST /aliases', 'GET /collections/C/aliases']],
    [
      'snapshots',
      ['POST /collections/C/snapshots', 'GET /collections/C/snapshots', 'DELETE /collections/C/snapshots/s'],
    ],
    ['snapshot recovery', ['PUT /collections/C/snapshots/s/recover']],
    [
      'maintenance',
      ['flush', 'optimize', 'rebuild_index'].map((verb) => `POST /collections/C/operations/${verb}`),
    ],
    ['collection status', ['GET /collections/C/status']],
    [
      'grouped search',
      ['POST /collections/C/points/search/groups', 'POST /collections/C/points/query/groups'],
    ],
    [
      'recommendations',
      ['recommend', 'recommend/batch', 'recommend/groups'].map(
        (rest) => `POST /collections/C/points/${rest}`,
      ),
    ],
    ['discovery', ['discover', 'discover/batch'].map((rest) => `POST /collections/C/points/${rest}`)],
  ];
  const requests = GROUPS.flatMap(([group, lines]) => lines.map((line) => [line, group] as const));

  let open: ContractServer;
  let guarded: ContractServer;
  const tokens: Record<string, string> = {};

  beforeAll(async () => {
    open = await ContractServer.start();
    await open.collection('c');
    guarded = await ContractServer.start([], {
      KITHDB_AUTH_ENABLED: 'true',
      KITHDB_ADMIN_PASSWORD: PASSWORD,
    });
    const login = await send(guarded, 'POST', '/auth/admin/login', { json: { password: PASSWORD } });
    tokens['jwt'] = login.body.token;
    const headers = { authorization: `Bearer ${tokens['jwt'] ?? ''}` };
    for (const permission of ['read', 'write', 'admin']) {
      const json = { name: permission, permission };
      const made = await send(guarded, 'POST', '/auth/access_token', { json, headers });
      tokens[permission] = made.body.token;
    }
  });
  afterAll(async () => {
    await open.stop();
    await guarded.stop();
  });

  const at = (server: ContractServer, line: string, collection: string, headers = {}): Promise<Answer> => {
    const [method = '', path = ''] = line.split(' ');
    return send(server, method, path.replace('/C/', `/${collection}/`), {
      headers,
      ...(method === 'GET' || method === 'DELETE' ? {} : { body: '{"no JSON' }),
    });
  };

  it.each(requests)(
    'C8 %s is a 501 of the group %s, whether or not the collection exists',
    async (line, group) => {
      for (const collection of ['c', 'absent']) {
        const { status, body } = await at(open, line, collection);
        expect([status, body]).toEqual([
          501,
          { time: expect.any(Number), status: { error: `Not implemented in this build: ${group}` } },
        ]);
      }
    },
  );

  it.each(requests)(
    'C8, C1.6 %s answers so to any valid credential, and to no other',
    async (line, group) => {
      for (const token of [undefined, 'wrong']) {
        const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
        const refused = await at(guarded, line, 'absent', headers);
        expect([refused.status, refused.body.status.error]).toEqual([
          401,
          'Invalid or missing authorization token',
        ]);
      }
      for (const token of Object.values(tokens)) {
        const { status, body } = await at(guarded, line, 'absent', { 'api-key': token });
        expect([status, body.status.error]).toEqual([501, `Not implemented in this build: ${group}`]);
      }
    },
  );

  it('C8, C3.14 the endpoints beside them need their permission as always', async () => {
    const as = (token: string, method: string, path: string, json?: object): Promise<Answer> =>
      send(guarded, method, path, { headers: { 'api-key': tokens[token] ?? '' }, ...(json ? { json } : {}) });
    const create = { vectors: { size: 2, distance: 'Dot' } };
    expect((await as('read', 'PUT', '/collections/g', create)).body.status.error).toBe(
      'Permission denied: write required',
    );
    expect((await as('write', 'PUT', '/collections/g', create)).body.result).toBe(true);
    expect((await as('write', 'POST', '/collections/g/points/count')).body.status.error).toBe(
      'Permission denied: read required',
    );
    expect((await as('read', 'POST', '/collections/g/points/count')).body.result).toEqual({ count: 0 });
    expect((await as('admin', 'GET', '/collections')).status).toBe(403);
    expect((await as('jwt', 'DELETE', '/collections/g')).body.result).toBe(true);
  });
});

describe('C10.2 a collection whose files are damaged', () => {
  const MANIFEST = (name: string): boolean => name === 'MANIFEST';
  const DATA = (name: string): boolean => name.endsWith('.data');

  /** Changes the one file of a collection that `wanted` picks, and gives its path. */
  function damage(folder: string, wanted: (name: string) => boolean, change: (file: string) => void): void {
    const names = readdirSync(folder).filter(wanted);
    expect(names).toHaveLength(1);
    change(join(folder, names[0] ?? ''));
  }

  const flip = (file: string): void => {
    const bytes = readFileSync(file);
    const middle = bytes.length >> 1;
    bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle);
    writeFileSync(file, bytes);
  };
  const cut = (file: string): void => {
    truncateSync(file, readFileSync(file).length >> 1);
  };
  const empty = (file: string): void => {
    truncateSync(file, 0);
  };

  /** Names and digests of all files of a folder. */
  function digest(folder: string): Record<string, string> {
    return Object.fromEntries(
      readdirSync(folder).map((name) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex'),
      ]),
    );
  }

  it.each<[string, (name: string) => boolean, (file: string) => void]>([
    ['one bit of its data', DATA, flip],
    ['the second half of its data', DATA, cut],
    ['all of its data', DATA, empty],
    ['its data file', DATA, rmSync],
    ['one bit of its manifest', MANIFEST, flip],
    ['the second half of its manifest', MANIFEST, cut],
  ])(
    'C10.2 %s: red and left alone, the others serve, DELETE frees the name',
    async (_title, wanted, change) => {
      const server = await ContractServer.start();
      const points = { points: [{ id: 1, vector: [1, 2], payload: { a: 1 } }] };
      for (const name of ['broken', 'sound']) {
        await server.ok('PUT', `${await server.collection(name)}/points`, points);
      }
      await server.halt();
      const folder = join(server.dataDir, 'collections', '0000000000000001');
      damage(folder, wanted, change);
      const damaged = digest(folder);
      for (let start = 0; start < 2; start += 1) {
        await server.restart();
        const info = await server.ok('GET', '/collections/broken');
        expect(info).toMatchObject({
          status: 'red',
          optimizer_status: { error: expect.stringMatching(/\w+ \w+/) },
        });
        const { error } = info.optimizer_status;
        expect(error).not.toContain(server.dataDir);
        expect(await server.ok('GET', '/collections')).toEqual({
          collections: [{ name: 'broken' }, { name: 'sound' }],
        });
        expect(await server.ok('GET', '/collections/broken/exists')).toEqual({ exists: true });
        const others = endpoints(({ path }) => path !== '' && path !== '/exists');
        for (const [title, { method, path, body, failed }] of others) {
          const answer = await server.refused(method, `/collections/broken${path}`, body);
          expect([title, ...answer]).toEqual([title, 500, `${failed}: ${error}`]);
        }
        const patched = await server.refused('PATCH', '/collections/broken', {});
        expect(patched).toEqual([500, `Collection operation failed: ${error}`]);
        const create = { vectors: { size: 2, distance: 'Dot' } };
        expect((await server.refused('PUT', '/collections/broken', create))[0]).toBe(409);
        // The others read and write.
        await server.ok('PUT', '/collections/sound/points', { points: [{ id: 2 + start, vector: [3, 4] }] });
        expect((await server.ok('POST', '/collections/sound/points/count')).count).toBe(2 + start);
        await server.halt();
        expect(digest(folder)).toEqual(damaged);
      }
      await server.restart();
      expect(await server.ok('DELETE', '/collections/broken')).toBe(true);
      expect(await server.ok('GET', '/collections/broken/exists')).toEqual({ exists: false });
      await server.collection('broken');
      await server.restart();
      expect(await server.ok('GET', '/collections/broken')).toMatchObject({
        status: 'green',
        points_count: 0,
      });
      const { points: left } = await server.ok('POST', '/collections/sound/points/scroll', {});
      expect(idsOf(left)).toEqual([1, 2, 3]);
      await server.stop();
    },
  );
});

describe('C11 running it', () => {
  it('C11.3 one line says the address, how long the start took, and what is served', async () => {
    const server = await ContractServer.start();
    await server.ok('PUT', `${await server.collection('c')}/points`, { points: [{ id: 1, vector: [1, 2] }] });
    await server.collection('d');
    await server.restart();
    const address = `http://127\\.0\\.0\\.1:${server.port}`;
    expect(server.printed).toHaveLength(2);
    expect(server.printed[0]).toMatch(/: 0 collections, 0 points$/);
    expect(server.printed[1]).toMatch(
      new RegExp(`^kithdb \\S+ ready on ${address} in \\d+ ms: 2 collections, 1 point$`),
    );
    await server.stop();
  });

  it('C11.1 the package has its two commands, its one binary and its Node.js', () => {
    const manifest = JSON.parse(readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8'));
    expect(manifest.scripts).toMatchObject({ start: expect.any(String), test: expect.any(String) });
    expect(manifest.bin).toEqual({ kithdb: 'bin/kithdb.js' });
    expect(manifest.engines).toEqual({ node: '>=20.19' });
  });
});
