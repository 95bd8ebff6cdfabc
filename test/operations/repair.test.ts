import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RepairReport } from '../../src/operations/repair';
import { kithdb } from './command';
import { pointOf, Served } from './served';

let folder: string;
let dataDir: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-repair-'));
  dataDir = join(folder, 'data');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

describe('C11.4 repair', () => {
  it('salvages a quarantined collection after --yes, names what is lost and keeps what it replaced', async () => {
    const first = await Served.on(dataDir);
    await first.create('hit');
    await first.create('spared');
    await first.upsert('hit', 0, 3000);
    await first.upsert('spared', 0, 100);
    await first.stop();
    expect(await kithdb('repair', '--data-dir', dataDir)).toEqual({
      code: 0,
      out: 'Nothing to repair.\n',
      err: '',
    });
    const collection = join(dataDir, 'collections', '0000000000000001');
    const data = readdirSync(collection).find((name) => name.endsWith('.data'))!;
    const bytes = readFileSync(join(collection, data));
    // The rows of vectors, and with them the offsets of their points, are at the end.
    const broken = Buffer.from(bytes);
    broken[broken.length - 70]! ^= 1;
    writeFileSync(join(collection, data), broken);
    const plan = await kithdb('repair', '--data-dir', dataDir);
    expect(plan).toMatchObject({ code: 1, err: 'kithdb: nothing was changed: give --yes to do it\n' });
    expect(plan.out).toMatch(/collection hit:\n {2}damaged: collections\/0*1\/\w+\.data: /);
    expect(await kithdb('repair', '--data-dir', dataDir, '--dry-run')).toEqual({ ...plan, code: 0, err: '' });
    expect(readdirSync(dataDir)).not.toContain('salvage');
    const done = await kithdb('repair', '--data-dir', dataDir, '--yes', '--json');
    expect(done.code).toBe(0);
    const report = JSON.parse(done.out) as RepairReport;
    expect(report).toMatchObject({ sound: false, done: true, mended: [{ name: 'hit' }] });
    const { points, lostPoints, unknownPoints } = report.mended[0]!;
    expect(points + lostPoints + unknownPoints).toBeGreaterThanOrEqual(3000);
    const aside = join(dataDir, report.salvage!, 'collections', '0000000000000001', data);
    expect(readFileSync(aside).equals(broken)).toBe(true);
    expect((await kithdb('check', '--data-dir', dataDir)).code).toBe(0);
    const second = await Served.on(dataDir);
    expect(await second.points('hit')).toHaveLength(points);
    for (const point of await second.points('hit')) {
      expect(point).toEqual(pointOf(point.id, 0));
    }
    expect(await second.points('spared')).toHaveLength(100);
    await second.upsert('hit', 0, 3000);
    expect(await second.points('hit')).toHaveLength(3000);
    await second.stop();
  });

  it('finds the collections of a lost catalog, and says how they are called from now on', async () => {
    const first = await Served.on(dataDir);
    await first.create('c');
    await first.upsert('c', 0, 100);
    await first.stop();
    rmSync(join(dataDir, 'catalog', 'CATALOG'));
    const second = await Served.on(dataDir);
    expect(await second.points('c')).toHaveLength(100);
    await second.stop();
    for (const path of ['catalog/CATALOG', 'collections/CATALOG']) writeFileSync(join(dataDir, path), 'x');
    await expect(Served.on(dataDir)).rejects.toThrow(
      /the file CATALOG is damaged, and its copy .*restore a backup, or let `kithdb repair` find the collections/,
    );
    const done = await kithdb('repair', '--data-dir', dataDir, '--yes');
    expect(done).toMatchObject({ code: 0, err: '' });
    const name = /the collection in collections\/0*1 is called (\S+)/.exec(done.out)![1]!;
    expect(done.out).toMatch(/The list of collections is written again\n/);
    const third = await Served.on(dataDir);
    expect(await third.points(name)).toHaveLength(100);
    await third.stop();
  });

  it('refuses what a server holds, what is no data directory, and flags that contradict each other', async () => {
    const server = await Served.on(dataDir);
    const held = await kithdb('repair', '--data-dir', dataDir, '--yes');
    await server.stop();
    expect(held).toMatchObject({ code: 1, err: expect.stringMatching(/in use by process \d+/) });
    expect(await kithdb('repair', '--data-dir', folder, '--yes')).toMatchObject({ code: 1 });
    expect(await kithdb('repair', '--data-dir', dataDir, '--yes', '--dry-run')).toMatchObject({ code: 2 });
  });
});
