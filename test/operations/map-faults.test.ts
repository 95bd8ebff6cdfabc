import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Served } from './served';

const dataDir = mkdtempSync(join(tmpdir(), 'kithdb-map-faults-'));
afterAll(() => {
  rmSync(dataDir, { recursive: true });
});

/** Cuts the largest data file of the first collection to less than a page; answers its name. */
function cut(): string {
  const folder = join(dataDir, 'collections', '0000000000000001');
  const size = (name: string): number => statSync(join(folder, name)).size;
  const files = readdirSync(folder).filter((name) => name.endsWith('.data'));
  const largest = files.sort((a, b) => size(b) - size(a))[0]!;
  truncateSync(join(folder, largest), 100);
  return largest;
}

it('C10.2 a file that is cut while it is served is a 500 of its collection; the process and the others go on', async () => {
  const before = await Served.on(dataDir);
  await before.create('hit');
  await before.create('spared');
  await before.upsert('hit', 0, 2000);
  await before.upsert('spared', 0, 2000);
  await before.stop();
  const server = await Served.on(dataDir);
  const spared = await server.points('spared');
  expect(await server.points('hit')).toHaveLength(2000);
  const file = cut();
  const search = { vector: [1, 2, 0, 1], limit: 2000, with_payload: true };
  const fault = new RegExp(`500 .*a page of the file ${file} cannot be read.*kithdb repair`);
  await expect(server.call('POST', '/collections/hit/points/search', search)).rejects.toThrow(fault);
  await expect(server.upsert('hit', 0, 1)).rejects.toThrow(fault);
  expect(await server.call('GET', '/collections/hit')).toMatchObject({
    status: 'red',
    optimizer_status: { error: expect.stringContaining(file) },
  });
  expect(await server.points('spared')).toEqual(spared);
  await server.upsert('spared', 2000, 2001);
  // Now the start finds what is wrong, by reading.
  await server.stop();
  const after = await Served.on(dataDir);
  expect(await after.points('spared')).toHaveLength(2001);
  await expect(after.points('hit')).rejects.toThrow(
    new RegExp(`500 .*${file} is shorter than MANIFEST says`),
  );
  expect(await after.call('DELETE', '/collections/hit')).toBe(true);
  await after.stop();
});
