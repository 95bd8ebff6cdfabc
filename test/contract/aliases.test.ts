import { randomUUID } from 'node:crypto';
import { send } from '../http/harness';
import { ContractServer, idsOf, type Json } from './contract-server';

const CONFIG = { vectors: { size: 2, distance: 'Dot' } };
const make = (alias: string, collection: string): object => ({
  create_alias: { alias_name: alias, collection_name: collection },
});
const remove = (alias: string): object => ({ delete_alias: { alias_name: alias } });
const rename = (from: string, to: string): object => ({
  rename_alias: { old_alias_name: from, new_alias_name: to },
});

describe('C12 aliases', () => {
  let server: ContractServer;

  const change = (...actions: object[]): Promise<unknown> =>
    server.ok('POST', '/collections/aliases', { actions });
  const refused = (...actions: object[]): Promise<[number, string]> =>
    server.refused('POST', '/collections/aliases', { actions });
  const aliases = async (path = '/aliases'): Promise<string[]> => {
    const { aliases: list } = (await server.ok('GET', path)) as {
      aliases: { alias_name: string; collection_name: string }[];
    };
    return list.map((one) => `${one.alias_name} → ${one.collection_name}`);
  };

  beforeEach(async () => {
    server = await ContractServer.start(['--dialect', 'qdrant']);
    for (const [at, name] of ['one', 'two'].entries()) {
      const path = await server.collection(name, CONFIG);
      await server.ok('PUT', `${path}/points`, { points: [{ id: at + 1, vector: [at, 1] }] });
    }
  });
  afterEach(() => server.stop());

  it('mean their collections in reads, writes and look-ups', async () => {
    expect(await change(make('current', 'one'), make('ünï c', 'one'))).toBe(true);
    expect(await aliases()).toEqual(['current → one', 'ünï c → one']);
    expect(await aliases('/collections/two/aliases')).toEqual([]);
    expect(await aliases('/collections/current/aliases')).toEqual(['current → one', 'ünï c → one']);
    await server.ok('PUT', '/collections/current/points', { points: [{ id: 7, vector: [3, 1] }] });
    const { points } = await server.ok('POST', '/collections/one/points/query', { query: [1, 0] });
    expect(idsOf(points)).toEqual([7, 1]);
    expect(await server.ok('GET', '/collections/%C3%BCn%C3%AF%20c/exists')).toEqual({ exists: true });
    expect((await server.ok('GET', '/collections/current')).points_count).toBe(2);
    const lookup = { query: 7, lookup_from: { collection: 'current' } };
    expect(idsOf((await server.ok('POST', '/collections/two/points/query', lookup)).points)).toEqual([2]);
    await server.ok('PATCH', '/collections/current', { metadata: { a: 1 } });
    await server.ok('PUT', '/collections/current/index', { field_name: 'n', field_schema: 'integer' });
    const info = await server.ok('GET', '/collections/one');
    expect([info.config.metadata, Object.keys(info.payload_schema)]).toEqual([{ a: 1 }, ['n']]);
    const { collections } = await server.ok('GET', '/collections');
    expect(collections).toEqual([{ name: 'one' }, { name: 'two' }]);
  });

  it('change together or not at all', async () => {
    await change(make('a', 'one'), make('b', 'one'));
    expect(await change(remove('a'), make('a', 'two'), rename('b', 'c'), remove('absent'))).toBe(true);
    expect(await aliases()).toEqual(['a → two', 'c → one']);
    expect(await change(make('a', 'one'), rename('a', 'c'))).toBe(true);
    expect(await aliases()).toEqual(['c → one']);
    for (const [actions, status, message] of [
      [[make('x', 'absent')], 404, "Not found: Collection `absent` doesn't exist!"],
      [[make('x', 'c')], 404, "Not found: Collection `c` doesn't exist!"],
      [[make('two', 'one')], 409, 'Collection already exists: two'],
      [[rename('c', 'two')], 409, 'Collection already exists: two'],
      [[rename('absent', 'x')], 404, 'Not found: Alias absent does not exists!'],
    ] as const) {
      expect(await refused(remove('c'), make('c', 'one'), make('y', 'two'), ...actions)).toEqual([
        status,
        message,
      ]);
    }
    expect(await aliases()).toEqual(['c → one']);
    expect(await server.ok('POST', '/aliases', { actions: [] })).toBe(true);
  });

  it('are refused with the place of what is wrong', async () => {
    for (const [body, message] of [
      [{}, 'Missing required field: actions'],
      [{ actions: [{}] }, /^actions\[0\]: expected one of create_alias/],
      [{ actions: [{ ...remove('a'), ...make('a', 'one') }] }, /^actions\[0\]: expected one of/],
      [{ actions: [{ drop_alias: { alias_name: 'a' } }] }, 'actions[0].drop_alias: unknown field'],
      [
        { actions: [{ delete_alias: { alias_name: 'a', x: 1 } }] },
        'actions[0].delete_alias.x: unknown field',
      ],
      [
        { actions: [{ create_alias: { alias_name: 'a' } }] },
        'Missing required field: actions[0].create_alias.collection_name',
      ],
      [{ actions: [make('a/b', 'one')] }, /^actions\[0\]\.create_alias\.alias_name: must not hold/],
      [{ actions: [rename('a', '')] }, /^actions\[0\]\.rename_alias\.new_alias_name: must be from 1/],
    ] as const) {
      const [status, said] = await server.refused('POST', '/collections/aliases', body);
      expect(status).toBe(400);
      if (typeof message === 'string') expect(said).toBe(message);
      else expect(said).toMatch(message);
    }
    expect(await aliases()).toEqual([]);
  });

  it('are names that no new collection may have, and go with their collection', async () => {
    await change(make('a', 'one'), make('b', 'two'));
    const taken = "Can't create collection with name a. Alias with the same name already exists";
    expect(await server.refused('PUT', '/collections/a', CONFIG)).toEqual([400, taken]);
    // As in Qdrant, only its own name deletes a collection.
    expect(await server.ok('DELETE', '/collections/a')).toBe(false);
    expect(await aliases()).toEqual(['a → one', 'b → two']);
    expect(await server.ok('DELETE', '/collections/one')).toBe(true);
    expect(await aliases()).toEqual(['b → two']);
    expect((await server.refused('POST', '/collections/a/points/count', {}))[0]).toBe(404);
    await server.ok('PUT', '/collections/one', CONFIG);
    expect(await aliases('/collections/one/aliases')).toEqual([]);
    expect(await server.ok('PUT', '/collections/a', CONFIG)).toBe(true);
    expect((await server.refused('GET', '/collections/absent/aliases'))[0]).toBe(404);
  });

  it('outlive restarts, and a change back to the dialect specification', async () => {
    await change(make('a', 'one'), make('b', 'two'));
    await server.restart();
    await change(remove('b'));
    await server.ok('POST', '/collections/a/operations/flush');
    await server.restart();
    expect(await aliases()).toEqual(['a → one']);
    await server.restart(['--dialect', 'specification']);
    expect(await server.refused('GET', '/aliases')).toEqual([501, 'Not implemented in this build: aliases']);
    expect(await server.ok('POST', '/collections/a/points/count', {})).toEqual({ count: 1 });
    expect((await server.refused('PUT', '/collections/a', CONFIG))[0]).toBe(400);
  });

  it('C26 keep a clone from their name, and stay when a snapshot replaces their collection', async () => {
    await change(make('a', 'one'));
    expect((await server.refused('POST', '/collections/one/clone', { name: 'a' }))[0]).toBe(400);
    expect(await server.ok('POST', '/collections/a/clone', { name: 'copy' })).toBe(true);
    expect(await aliases('/collections/copy/aliases')).toEqual([]);
    const { name } = await server.ok('POST', '/collections/one/snapshots');
    await server.ok('POST', '/collections/a/points/delete', { filter: {} });
    await server.ok('PUT', `/collections/one/snapshots/${name}/recover`);
    for (const restarts of [false, true]) {
      if (restarts) await server.restart();
      expect(await aliases()).toEqual(['a → one']);
      expect(await server.ok('POST', '/collections/a/points/count', {})).toEqual({ count: 1 });
    }
  });

  it('C12 name the snapshots of their collection', async () => {
    const count = (): Promise<Json> => server.ok('POST', '/collections/one/points/count', {});
    await change(make('a', 'one'));
    const path = '/collections/a/snapshots';
    const made = await server.ok('POST', path);
    expect(made.name).toMatch(/^one-/);
    expect(await server.ok('GET', '/collections/one/snapshots')).toEqual([made]);
    const second = await server.ok('POST', '/collections/one/snapshots');
    const names = (await server.ok('GET', path)).map(({ name }: Json) => name);
    expect(names.sort()).toEqual([made.name, second.name].sort());
    const file = await fetch(`http://127.0.0.1:${server.port}${path}/${second.name}`);
    expect(file.status).toBe(200);
    const form = new FormData();
    form.append('snapshot', await file.blob(), 'any.snapshot');
    await server.ok('POST', '/collections/one/points/delete', { filter: {} });
    expect(await server.ok('PUT', `${path}/${made.name}/recover`)).toBe(true);
    expect(await count()).toEqual({ count: 1 });
    await server.ok('POST', '/collections/one/points/delete', { filter: {} });
    const url = `http://127.0.0.1:${server.port}${path}/upload`;
    expect((await fetch(url, { method: 'POST', body: form })).status).toBe(200);
    expect(await count()).toEqual({ count: 1 });
    expect(await aliases()).toEqual(['a → one']);
    expect(await server.ok('DELETE', `${path}/${made.name}`)).toBe(true);
    expect(await server.ok('GET', '/collections/one/snapshots')).toEqual([second]);
  });

  it('C25 change once for one key', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    await change(make('a', 'one'));
    const repeat = async (): Promise<void> => {
      const json = { actions: [rename('a', 'b')] };
      const answer = await send({ port: server.port }, 'POST', '/collections/aliases', { json, headers });
      expect([answer.status, answer.body.result]).toEqual([200, true]);
    };
    await repeat();
    await change(rename('b', 'a'));
    await repeat();
    await server.restart();
    await repeat();
    expect(await aliases()).toEqual(['a → one']);
  });
});
