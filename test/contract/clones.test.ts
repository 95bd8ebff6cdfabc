import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { connect, ConflictError, NotFoundError } from '../../src';
import { checkEngineFiles } from '../../src/engine/offline';
import { ContractServer } from './contract-server';

describe.each(['specification', 'qdrant'])('C26 clones in the dialect %s', (dialect) => {
  let server: ContractServer;

  beforeAll(async () => {
    server = await ContractServer.start(['--dialect', dialect]);
  });
  afterAll(() => server.stop());

  it('C26 a clone has what its source has, in files that are shared, and both go on alone', async () => {
    const folders = join(server.dataDir, 'collections');
    // A checkpoint makes the folder of the first collection, and that around it.
    const others = existsSync(folders) ? readdirSync(folders) : [];
    const points = [1, 2, 3].map((id) => ({ id, vector: [id, 1], payload: { n: id } }));
    const source = await server.holding(points);
    await server.ok('PUT', `${source}/index`, { field_name: 'n', field_schema: 'integer' });
    expect(await server.ok('POST', `${source}/clone`, { name: 'clone' })).toBe(true);
    const [before, copy] = [await server.ok('GET', source), await server.ok('GET', '/collections/clone')];
    expect(copy.config).toEqual(before.config);
    expect(copy.points_count).toBe(3);
    expect(await server.pointsOf('/collections/clone')).toEqual(await server.pointsOf(source));
    const links = readdirSync(folders)
      .filter((name) => /^[0-9a-f]{16}$/.test(name) && !others.includes(name))
      .sort()
      .map((name) =>
        readdirSync(join(folders, name))
          .filter((file) => file.endsWith('.data'))
          .map((file) => statSync(join(folders, name, file)).ino),
      );
    expect(links).toHaveLength(2);
    expect(links[1]?.length).toBeGreaterThan(0);
    expect(links[0]).toEqual(expect.arrayContaining(links[1] ?? []));
    await server.ok('POST', `${source}/points/delete`, { filter: {} });
    await server.ok('PUT', '/collections/clone/points', { points: [{ id: 4, vector: [4, 1] }] });
    await server.restart();
    expect(Object.keys(await server.pointsOf(source))).toEqual([]);
    expect(Object.keys(await server.pointsOf('/collections/clone'))).toEqual(['1', '2', '3', '4']);
    await server.ok('DELETE', source);
    await server.restart();
    expect(Object.keys(await server.pointsOf('/collections/clone'))).toEqual(['1', '2', '3', '4']);
    await server.halt();
    expect((await checkEngineFiles(server.dataDir)).findings).toEqual([]);
    await server.restart();
    await server.ok('DELETE', '/collections/clone');
  });

  it('C26 C25 the typed client has it; a repeat changes nothing, a taken name is a 409', async () => {
    const client = connect(`http://127.0.0.1:${server.port}`);
    const source = (await server.holding([{ id: 1, vector: [1, 2] }])).split('/')[2] ?? '';
    expect(await client.cloneCollection(source, { name: 'of a client' })).toBe(true);
    await expect(client.cloneCollection(source, { name: 'of a client' })).rejects.toThrow(ConflictError);
    await expect(client.cloneCollection('absent', { name: 'x' })).rejects.toThrow(NotFoundError);
    await client.close();
    expect(await server.refused('POST', `/collections/${source}/clone`, { name: 'a/b' })).toEqual([
      400,
      expect.stringContaining('Collection name'),
    ]);
    expect(await server.refused('POST', `/collections/${source}/clone`, {})).toEqual([
      400,
      'Missing required field: name',
    ]);
    await server.ok('DELETE', '/collections/of%20a%20client');
  });
});
