import { readFileSync } from 'node:fs';
import { engineRoutes } from '../../src/engine-routes';
import { reachOf } from '../../src/http/token-limits';
import { send, type Answer } from '../http/harness';
import { ContractServer, type Json } from './contract-server';
import { bodyOf } from './route-bodies';

const PASSWORD = 'Correct-Horse-9-Battery';

let server: ContractServer;
let jwt: string;
beforeAll(async () => {
  server = await ContractServer.start(['--dialect', 'qdrant'], {
    KITHDB_ADMIN_PASSWORD: PASSWORD,
    KITHDB_AUTH_ENABLED: 'true',
  });
  const login = await send({ port: server.port }, 'POST', '/auth/admin/login', {
    json: { password: PASSWORD },
  });
  jwt = login.body.token;
  for (const name of ['tenants', 'foreign', 'shared-1']) {
    await ok(jwt, 'PUT', `/collections/${name}`, { vectors: { size: 2, distance: 'Dot' } });
  }
});
afterAll(() => server.stop());

/** Status, and result or message, of a request with a credential. */
async function call(token: string, method: string, path: string, json?: unknown): Promise<[number, Json]> {
  const answer = await send({ port: server.port }, method, path, {
    ...(json !== undefined && { json }),
    headers: { authorization: `Bearer ${token}` },
  });
  const { result, status, message } = answer.body;
  return [answer.status, answer.status === 200 ? (result ?? answer.body) : (status?.error ?? message)];
}

async function ok(token: string, method: string, path: string, json?: unknown): Promise<Json> {
  const [status, result] = await call(token, method, path, json);
  expect([status, status === 200 ? undefined : [method, path, result]]).toEqual([200, undefined]);
  return result;
}

/** The value of a new access token. */
async function token(fields: object): Promise<string> {
  return (await ok(jwt, 'POST', '/auth/access_token', { name: 'x', permission: 'read,write', ...fields }))
    .token;
}

const NO_ACCESS = 'Permission denied: the access token does not allow this in the collection';
const FOR_POINTS = 'Permission denied: an access token with a filter is for points only';

describe('C15 collections of an access token', () => {
  it('C15 rights are what the permission and the collections allow, by name and by prefix', async () => {
    const reader = await token({
      permission: 'read',
      collections: [{ prefix: 'shared-', permission: 'read,write' }],
    });
    const mixed = await token({
      collections: [
        { name: 'tenants', permission: 'write' },
        { prefix: 'shared-', permission: 'read' },
      ],
    });
    const upsert = { points: [{ id: 1, vector: [1, 2] }] };
    expect((await call(reader, 'POST', '/collections/shared-1/points/count', {}))[0]).toBe(200);
    expect(await call(reader, 'PUT', '/collections/shared-1/points', upsert)).toEqual([
      403,
      'Permission denied: write required',
    ]);
    expect((await call(mixed, 'PUT', '/collections/tenants/points', upsert))[0]).toBe(200);
    expect(await call(mixed, 'POST', '/collections/tenants/points/count', {})).toEqual([403, NO_ACCESS]);
    expect(await call(mixed, 'PUT', '/collections/shared-1/points', upsert)).toEqual([403, NO_ACCESS]);
    expect(await ok(mixed, 'GET', '/collections')).toEqual({ collections: [{ name: 'shared-1' }] });
    // A collection of a name that is allowed is made and removed.
    const maker = await token({ collections: [{ prefix: 'made-', permission: 'write' }] });
    const config = { vectors: { size: 2, distance: 'Dot' } };
    expect((await call(maker, 'PUT', '/collections/made-1', config))[0]).toBe(200);
    expect((await call(maker, 'PUT', '/collections/other-1', config))[0]).toBe(403);
    expect((await call(maker, 'DELETE', '/collections/made-1'))[0]).toBe(200);
  });

  it('C15 collections that a body names are checked before the collection of the path', async () => {
    const own = await token({ collections: [{ prefix: 'tenants', permission: 'read' }] });
    const named = engineRoutes.filter(({ namedInBody }) => namedInBody === 'lookup_from');
    for (const { path, operation } of named) {
      for (const collection of ['foreign', 'absent']) {
        const from = operation.startsWith('query')
          ? { prefetch: { query: 1, lookup_from: { collection } }, query: { fusion: 'rrf' } }
          : operation.startsWith('discover')
            ? { target: 1, lookup_from: { collection } }
            : operation.startsWith('search')
              ? { vector: [1, 0], with_lookup: collection }
              : { positive: [1], lookup_from: { collection } };
        const form = operation.endsWith('_groups') ? { ...from, group_by: 'a' } : from;
        const body = operation.endsWith('_batch') ? { searches: [form] } : form;
        for (const name of ['tenants', 'tenants-absent']) {
          expect([path, ...(await call(own, 'POST', path.replace(':collection_name', name), body))]).toEqual([
            path,
            403,
            NO_ACCESS,
          ]);
        }
      }
    }
  });

  it('C15 a clone needs write on its name, and read and write on its source', async () => {
    const own = await token({
      collections: [
        { name: 'tenants', permission: 'read,write' },
        { prefix: 'copy-', permission: 'write' },
      ],
    });
    for (const name of ['foreign', 'absent', 'copied']) {
      expect(await call(own, 'POST', '/collections/tenants/clone', { name })).toEqual([403, NO_ACCESS]);
    }
    expect(await call(own, 'POST', '/collections/copy-0/clone', { name: 'copy-1' })).toEqual([
      403,
      NO_ACCESS,
    ]);
    expect(await ok(own, 'POST', '/collections/tenants/clone', { name: 'copy-1' })).toBe(true);
    expect(await ok(own, 'DELETE', '/collections/copy-1')).toBe(true);
  });

  it('C15 a route whose body names collections says so', () => {
    const description: Json = JSON.parse(readFileSync('dist/openapi.json', 'utf8'));
    const schemas: Readonly<Record<string, unknown>> = description.components.schemas;
    const naming = /"(?:lookup_from|with_lookup|alias_name|collection_name|new_name)":/;
    const names = (schema: unknown, seen = new Set<string>()): boolean => {
      const text = JSON.stringify(schema);
      const references = [...text.matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name = '']) => name);
      return (
        naming.test(text) ||
        references.some((name) => !seen.has(name) && names(schemas[name], seen.add(name)))
      );
    };
    for (const route of engineRoutes) {
      const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
      const schema =
        description.paths[path][route.method.toLowerCase()].requestBody?.content?.['application/json'].schema;
      const says = route.namedInBody !== undefined || reachOf(route) === 'server';
      expect([route.path, schema !== undefined && names(schema) && !says]).toEqual([route.path, false]);
    }
  });

  it('C15 an alias reaches nothing that its collection does not, and is changed by tokens without limits', async () => {
    const create = (alias_name: string, collection_name: string): object => ({
      create_alias: { alias_name, collection_name },
    });
    const actions = [create('tenants-a', 'foreign'), create('tenants-b', 'tenants'), create('x', 'tenants')];
    await ok(jwt, 'POST', '/collections/aliases', { actions });
    const own = await token({ collections: [{ prefix: 'tenants', permission: 'read,write' }] });
    // What an alias names is not deleted or replaced by it.
    const harmless = ['delete_collection', 'create_collection'];
    const routes = engineRoutes.filter(({ path }) => path.includes(':collection_name'));
    for (const route of routes.filter(({ operation }) => !harmless.includes(operation))) {
      const at = route.path.replace(':field_name', 'a').replace(':vector_name', 'v').replace(':id', '1');
      const [status] = await call(
        own,
        route.method,
        at.replace(':collection_name', 'tenants-a'),
        route.operation === 'clone_collection' ? { name: 'tenants-c' } : bodyOf(route),
      );
      expect([route.path, status]).toEqual([route.path, 403]);
    }
    const { aliases } = await ok(own, 'GET', '/aliases');
    expect(aliases).toEqual([{ alias_name: 'tenants-b', collection_name: 'tenants' }]);
    const counts = ['tenants', 'tenants-b'].map((name) =>
      ok(own, 'POST', `/collections/${name}/points/count`, {}),
    );
    expect(await counts[1]).toEqual(await counts[0]);
    const lookup = { group_by: 'a', with_lookup: 'tenants-a' };
    expect((await call(own, 'POST', '/collections/tenants/points/query/groups', lookup))[0]).toBe(403);
    const direct = { group_by: 'a', with_lookup: 'foreign' };
    expect((await call(own, 'POST', '/collections/tenants/points/query/groups', direct))[0]).toBe(403);
    expect((await call(own, 'POST', '/collections/aliases', { actions: [] }))[0]).toBe(403);
    const remove = ['tenants-a', 'tenants-b', 'x'].map((alias_name) => ({ delete_alias: { alias_name } }));
    await ok(jwt, 'POST', '/collections/aliases', { actions: remove });
  });

  it('C15 what is about the whole server needs a token without limits', async () => {
    const limited = await token({ collections: [{ prefix: 't', permission: 'read' }] });
    const free = await token({});
    for (const path of [
      '/metrics',
      '/telemetry',
      '/cluster',
      '/cluster/telemetry',
      '/collections/tenants/cluster',
      '/collections/tenants/snapshots',
    ]) {
      const refused = await send({ port: server.port }, 'GET', path, { headers: { 'api-key': limited } });
      expect([path, refused.status]).toEqual([path, 403]);
      expect((await send({ port: server.port }, 'GET', path, { headers: { 'api-key': free } })).status).toBe(
        200,
      );
    }
  });

  it('C15 limits that cannot be are refused, and those that are made are shown', async () => {
    const refusals: readonly (readonly [object, string])[] = [
      [
        { permission: 'read,admin', collections: [{ name: 'a', permission: 'read' }] },
        'cannot have the permission admin',
      ],
      [{ permission: 'admin', filter: { must: { has_id: [1] } } }, 'cannot have the permission admin'],
      [{ collections: [] }, 'collections must be a list of 1 to 100 objects'],
      [{ collections: { name: 'a' } }, 'collections must be a list'],
      [{ collections: [{ permission: 'read' }] }, 'collections[0] must have either name or prefix'],
      [{ collections: [{ name: 'a', prefix: 'a', permission: 'read' }] }, 'collections[0] must have either'],
      [{ collections: [{ name: 'a' }] }, 'collections[0].permission'],
      [{ collections: [{ name: 'a', permission: 'admin' }] }, 'collections[0].permission'],
      [{ collections: [{ name: 'a', permission: '' }] }, 'collections[0].permission'],
      [{ collections: [{ prefix: '', permission: 'read' }] }, 'collections[0].prefix'],
      [
        { collections: [{ name: 'cafe\u0301', permission: 'read' }] },
        'collections[0].name must be in Unicode',
      ],
      [
        { collections: [{ prefix: 'e\u0301-', permission: 'read' }] },
        'collections[0].prefix must be in Unicode',
      ],
      [{ collections: [{ name: 'a', permission: 'read', rights: 1 }] }, 'unknown field "rights"'],
      [{ filter: {} }, 'filter must have a condition'],
      [{ filter: { must: [{ must: [] }] } }, 'filter must have a condition'],
      [{ filter: [] }, 'filter must be an object'],
      [{ filter: { must: { key: 'a', match: { text: 'b' } } } }, 'no conditions on texts'],
      [{ filter: { must: { key: 'a', mtch: { value: 1 } } } }, 'filter: '],
      [{ filter: { must: { key: 'a', match: { value: 2 ** 60 } } } }, 'integers beyond 2^53'],
      [{ filter: { must: { has_id: Array.from({ length: 5000 }, (_, id) => id) } } }, 'at most 8192 bytes'],
    ];
    for (const [fields, why] of refusals) {
      const [status, message] = await call(jwt, 'POST', '/auth/access_token', {
        name: 'x',
        permission: 'read',
        ...fields,
      });
      expect([status, message]).toEqual([400, expect.stringContaining(why)]);
    }
    // What no number of JavaScript holds can only be sent as text.
    for (const beyond of ['1e999', '-1e999', '9007199254740993']) {
      const filter = `{"must":{"key":"age","range":{"lt":${beyond}}}}`;
      const answer = await send({ port: server.port }, 'POST', '/auth/access_token', {
        body: `{"name":"x","permission":"read","filter":${filter}}`,
        headers: { authorization: `Bearer ${jwt}` },
      });
      expect([answer.status, answer.body.message]).toEqual([
        400,
        'filter must have no integers beyond 2^53, which JSON parsers do not keep',
      ]);
    }
    const limits = {
      collections: [{ name: 'a', permission: 'read,write' }],
      filter: { must: { key: 'tenant', match: { value: 7 } } },
    };
    const made = await ok(jwt, 'POST', '/auth/access_token', { name: 'x', permission: 'read', ...limits });
    expect(made).toMatchObject(limits);
    const rotated = await ok(jwt, 'POST', `/auth/access_token/${made.id}/rotate`);
    expect(rotated).toMatchObject(limits);
    const free = await ok(jwt, 'POST', '/auth/access_token', { name: 'x', permission: 'read' });
    const shown = Object.keys(free).sort();
    expect(shown).not.toContain('collections');
    expect(shown).not.toContain('filter');
  });
});

describe('C15 filter of an access token', () => {
  const path = '/collections/points';
  let own: string;

  beforeEach(async () => {
    await call(jwt, 'DELETE', path);
    await ok(jwt, 'PUT', path, { vectors: { size: 2, distance: 'Dot' } });
    const points = Array.from({ length: 20 }, (_, id) => ({
      id,
      vector: [1, id],
      payload: { tenant: id % 2 === 0 ? 'mine' : 'yours', tag: `t${id}`, n: id },
    }));
    await ok(jwt, 'PUT', `${path}/points`, { points });
    own = await token({
      collections: [{ prefix: 'p', permission: 'read,write' }],
      filter: { must: { key: 'tenant', match: { value: 'mine' } } },
    });
  });

  const ids = (points: Json): number[] => points.map(({ id }: { id: number }) => id);
  const isMine = (found: readonly number[]): boolean => found.length > 0 && found.every((id) => id % 2 === 0);

  it('C15 every read sees only points that match', async () => {
    const read = (rest: string, body: object): Promise<Json> => ok(own, 'POST', `${path}${rest}`, body);
    const near = { vector: [0, 1], limit: 20 };
    expect(isMine(ids(await read('/points/search', near)))).toBe(true);
    const should = { should: [{ has_id: [1, 3, 4] }] };
    expect(ids(await read('/points/search', { ...near, filter: should }))).toEqual([4]);
    // What is missing is explained by the filter of the request, at its place, and what the token hides is absent (C13).
    const why = (asked: readonly number[]): Promise<Answer> =>
      send({ port: server.port }, 'POST', `${path}/points/search`, {
        json: { ...near, filter: should, params: { explain: true, why: asked } },
        headers: { authorization: `Bearer ${own}` },
      });
    expect((await why([2, 4])).body.explain.why).toMatchObject([
      { id: 2, returned: false, failed_condition: 'filter.should', lost_by: 'filter' },
      { id: 4, returned: true, rank: 1, lost_by: null },
    ]);
    expect((await why([2, 3])).status).toBe(404);
    for (const list of await read('/points/search/batch', {
      searches: [near, { ...near, filter: should }],
    })) {
      expect(isMine(ids(list))).toBe(true);
    }
    const queries: readonly object[] = [
      { query: [0, 1], limit: 20 },
      { limit: 20 },
      { query: { sample: 'random' }, limit: 20 },
      { query: { order_by: 'n' }, limit: 20 },
      {
        query: { fusion: 'rrf' },
        prefetch: [
          { query: [0, 1], limit: 20 },
          { query: [1, 0], limit: 20 },
        ],
        limit: 20,
      },
      { query: { recommend: { positive: [2], negative: [4] } }, limit: 20 },
      { query: { nearest: [0, 1], mmr: {} }, limit: 20 },
      { query: { formula: '$score' }, prefetch: { query: [0, 1], limit: 20 }, limit: 20 },
    ];
    for (const query of queries) {
      expect([query, isMine(ids((await read('/points/query', query)).points))]).toEqual([query, true]);
    }
    for (const { points } of await read('/points/query/batch', { searches: queries })) {
      expect(isMine(ids(points))).toBe(true);
    }
    expect(isMine(ids(await read('/points/recommend', { positive: [2], limit: 20 })))).toBe(true);
    expect(isMine(ids(await read('/points/discover', { target: 2, limit: 20 })))).toBe(true);
    expect(isMine(ids((await read('/points/scroll', { limit: 20 })).points))).toBe(true);
    expect(isMine(ids((await read('/points/scroll', { limit: 20, order_by: 'n' })).points))).toBe(true);
    expect(await read('/points/count', {})).toEqual({ count: 10 });
    expect(await read('/points/count', { filter: should })).toEqual({ count: 1 });
    expect((await read('/facet', { key: 'tenant' })).hits).toEqual([{ value: 'mine', count: 10 }]);
    const pairs = (await read('/points/search/matrix/pairs', { sample: 20, limit: 5 })).pairs;
    expect(isMine(pairs.flatMap(({ a, b }: { a: number; b: number }) => [a, b]))).toBe(true);
    expect(isMine((await read('/points/search/matrix/offsets', { sample: 20, limit: 5 })).ids)).toBe(true);
    expect(isMine((await read('/points/projection', { sample: 20 })).ids)).toBe(true);
    expect(isMine(ids(await read('/points', { ids: [1, 2, 3] })))).toBe(true);
  });

  it('C15 points outside are absent, as examples and in lookups too', async () => {
    expect((await call(own, 'GET', `${path}/points/1`))[0]).toBe(404);
    expect((await call(own, 'GET', `${path}/points/2`))[0]).toBe(200);
    const examples: readonly object[] = [
      { query: 1 },
      { query: { recommend: { positive: [2, 1] } } },
      { query: { discover: { target: 2, context: [{ positive: 2, negative: 1 }] } } },
      { query: { context: [{ positive: 1, negative: 2 }] } },
      { query: { fusion: 'rrf' }, prefetch: { query: 1 } },
      { query: 1, lookup_from: { collection: 'points' } },
      { query: [0, 1], params: { explain: true, why: [2, 1] } },
    ];
    for (const body of examples) {
      const [status, message] = await call(own, 'POST', `${path}/points/query`, body);
      expect([body, status, String(message).includes('1')]).toEqual([body, 404, true]);
    }
  });

  it('C15 updates and deletes do not reach points outside', async () => {
    const everything = (): Promise<Json> =>
      ok(jwt, 'POST', `${path}/points/scroll`, { limit: 100, with_vector: true });
    const before = (await everything()).points.filter(({ id }: { id: number }) => id % 2 === 1);
    const yours = async (): Promise<Json> =>
      (await everything()).points.filter(({ id }: { id: number }) => id % 2 === 1);
    const all = { filter: {} };
    for (const [method, rest, body] of [
      ['POST', '/points/payload', { ...all, payload: { seen: true } }],
      ['POST', '/points/payload/delete', { ...all, keys: ['seen'] }],
      ['POST', '/points/vectors/delete', { filter: { must: { has_id: [1, 2] } }, vector: [''] }],
      ['POST', '/points/delete', { filter: { must: { has_id: [3, 4] } } }],
      ['POST', '/points/delete', { points: [5, 6] }],
      ['POST', '/points/batch', { operations: [{ delete: { filter: { must: { has_id: [7, 8] } } } }] }],
    ] as const) {
      await ok(own, method, `${path}${rest}`, body);
      expect(await yours()).toEqual(before);
    }
    expect(await ok(jwt, 'POST', `${path}/points/count`, {})).toEqual({ count: 17 });
    for (const [method, rest, body] of [
      ['POST', '/points/payload', { points: [1], payload: { seen: true } }],
      ['PUT', '/points/payload', { points: [2, 1], payload: { tenant: 'mine' } }],
      ['POST', '/points/payload/delete', { points: [1], keys: ['tag'] }],
      ['POST', '/points/payload/clear', { points: [1] }],
      ['PUT', '/points/vectors', { points: [{ id: 1, vector: [9, 9] }] }],
      ['POST', '/points/vectors/delete', { points: [1], vector: [''] }],
    ] as const) {
      expect([rest, ...(await call(own, method, `${path}${rest}`, body))]).toEqual([
        rest,
        404,
        expect.stringContaining('1'),
      ]);
    }
    // The version of a point outside is that of an absent one.
    const version = { points: [{ id: 1, vector: [1, 1], payload: { tenant: 'mine' }, if_version: 0 }] };
    expect((await call(own, 'PUT', `${path}/points`, version))[0]).toBe(403);
    expect(await yours()).toEqual(before);
  });

  it('C15 what would be outside is a 403, and nothing of the request happens', async () => {
    const text = async (): Promise<string> =>
      JSON.stringify(await ok(jwt, 'POST', `${path}/points/scroll`, { limit: 100, with_vector: true }));
    const before = await text();
    const mine = { tenant: 'mine' };
    const requests: readonly (readonly [string, string, object, string])[] = [
      [
        'PUT',
        '/points',
        {
          points: [
            { id: 100, vector: [1, 1], payload: mine },
            { id: 1, vector: [1, 1], payload: mine },
          ],
        },
        '1',
      ],
      [
        'PUT',
        '/points',
        { points: [{ id: 1, vector: [1, 1], payload: mine }], update_mode: 'insert_only' },
        '1',
      ],
      [
        'PUT',
        '/points',
        { points: [{ id: 1, vector: [1, 1], payload: mine }], update_filter: { must: { has_id: [2] } } },
        '1',
      ],
      ['PUT', '/points', { points: [{ id: 100, vector: [1, 1] }] }, '100'],
      ['PUT', '/points', { points: [{ id: 2, vector: [1, 1], payload: { tenant: 'yours' } }] }, '2'],
      [
        'PUT',
        '/points',
        {
          batch: {
            ids: [100, 101],
            vectors: [
              [1, 1],
              [1, 1],
            ],
            payloads: [mine, null],
          },
        },
        '101',
      ],
      ['POST', '/points/payload', { points: [2], payload: { tenant: 'yours' } }, '2'],
      ['POST', '/points/payload', { filter: { must: { has_id: [2] } }, payload: { tenant: null } }, '2'],
      ['PUT', '/points/payload', { points: [2], payload: {} }, '2'],
      ['POST', '/points/payload/delete', { points: [2], keys: ['tenant'] }, '2'],
      ['POST', '/points/payload/clear', { points: [2] }, '2'],
      [
        'POST',
        '/points/batch',
        {
          operations: [
            { upsert: { points: [{ id: 100, vector: [1, 1], payload: mine }] } },
            { clear_payload: { points: [100] } },
          ],
        },
        '100',
      ],
    ];
    for (const [method, rest, body, id] of requests) {
      expect([rest, body, ...(await call(own, method, `${path}${rest}`, body))]).toEqual([
        rest,
        body,
        403,
        `Permission denied: outside the filter of the access token: ${id}`,
      ]);
    }
    expect(await text()).toBe(before);
    await ok(own, 'PUT', `${path}/points`, { points: [{ id: 100, vector: [1, 1], payload: mine }] });
    await ok(own, 'PUT', `${path}/points/vectors`, { points: [{ id: 2, vector: [5, 5] }] });
  });

  it('C15 it is for points only, and the info has no counts', async () => {
    for (const route of engineRoutes.filter((one) => reachOf(one) === 'collection')) {
      const at = route.path
        .replace(':collection_name', 'points')
        .replace(':field_name', 'a')
        .replace(':vector_name', 'v');
      expect([at, ...(await call(own, route.method, at, bodyOf(route)))]).toEqual([at, 403, FOR_POINTS]);
    }
    await ok(jwt, 'PUT', `${path}/index`, { field_name: 'tenant', field_schema: 'keyword' });
    const info = await ok(own, 'GET', path);
    expect([info.points_count, info.indexed_vectors_count]).toEqual([null, null]);
    expect(info).not.toHaveProperty('residency');
    expect(info.payload_schema.tenant.points).toBe(0);
    expect(await ok(own, 'POST', `${path}/points/count`, {})).toEqual({ count: 10 });
    expect((await ok(jwt, 'GET', path)).points_count).toBe(20);
  });
});
