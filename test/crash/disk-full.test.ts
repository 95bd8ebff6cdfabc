import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  statfsSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { call, ok } from './requests';
import { itUnless } from '../missing';
import { isSampled } from '../sample';
import { sleep, until } from '../until';
import { ServerChild } from './server-child';

const SIZE = 256;
const BATCH = 50;
/**
 * What a point of the indexed collection may take on the disk once the room of the deleted ones is given back: about 2 KiB
 * are its own, the rest are dead rows not worth moving and the log. Nothing given back would be 5.6 KiB for each that is left.
 */
const MAX_BYTES_A_POINT = 4000;
/** Filling a disk takes long where others use the processors. */
const TIMEOUT_MS = 600_000;

type Kind = 'tmpfs' | 'ext4';

/** A small file system of its own, mounted. */
interface SmallDisk {
  readonly path: string;
  unmount(): void;
}

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: 'pipe' });
}

/** Mounts one in a folder of its own; throws where the test may not: it takes root, and a kernel that has it. */
function mount(kind: Kind, megabytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-full-'));
  const path = join(folder, 'disk');
  mkdirSync(path);
  try {
    if (kind === 'tmpfs') {
      run('mount', '-t', 'tmpfs', '-o', `size=${String(megabytes)}m`, 'kithdb-test', path);
    } else {
      const image = join(folder, 'image');
      writeFileSync(image, '');
      // What the file system keeps for itself comes on top.
      truncateSync(image, (megabytes + 6) * 1024 * 1024);
      // No blocks are reserved for root, so that the disk is full for this test, too.
      run('mkfs.ext4', '-q', '-F', '-m', '0', image);
      run('mount', '-o', 'loop', image, path);
    }
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
  return {
    path,
    unmount: (): void => {
      run('umount', path);
      rmSync(folder, { recursive: true });
    },
  };
}

function canMount(kind: Kind): boolean {
  try {
    mount(kind, 6).unmount();
    return true;
  } catch {
    return false;
  }
}

function points(first: number, length = BATCH, text = ''): { points: { vector: number[] }[] } {
  return {
    points: Array.from({ length }, (_, at) => ({
      id: first + at,
      vector: Array.from({ length: SIZE }, (_, dim) => ((first + at) * 31 + dim * 7) % 101),
      payload: { n: first + at, ...(text === '' ? {} : { text }) },
    })),
  };
}

function create(url: string, name: string): Promise<unknown> {
  return ok(url, 'PUT', `/collections/${name}`, { vectors: { size: SIZE, distance: 'Euclid' } });
}

async function count(url: string, name: string): Promise<number> {
  return ((await ok(url, 'POST', `/collections/${name}/points/count`, {})) as { count: number }).count;
}

/** Upserts until the disk is full, also after what the server can tidy up by itself; says how many points it took. */
async function fill(url: string, name: string, batch = BATCH, text = ''): Promise<number> {
  let taken = 0;
  for (let refused = 0; refused < 3;) {
    const { status, error } = await call(
      url,
      'PUT',
      `/collections/${name}/points`,
      points(taken, batch, text),
    );
    if (status === 200) {
      taken += batch;
      refused = 0;
    } else {
      expect([status, error]).toEqual([507, 'Upsert failed: storage full']);
      refused += 1;
      // For what the server tidies up meanwhile.
      if (refused < 3) await sleep(700);
    }
  }
  return taken;
}

/** What a server must go on doing on a full disk: reading, and everything that deletes. */
async function expectReadsAndDeletions(url: string, name: string, taken: number): Promise<number> {
  const path = `/collections/${name}/points`;
  expect(await count(url, name)).toBe(taken);
  expect(await ok(url, 'GET', `${path}/7`)).toMatchObject({ id: 7, payload: { n: 7 } });
  const { points: made } = points(7);
  const search = { vector: made[0]?.vector, limit: 1, params: { exact: true } };
  expect(await ok(url, 'POST', `${path}/search`, search)).toMatchObject([{ id: 7 }]);
  await ok(url, 'POST', `${path}/delete`, { points: [0, 1] });
  await ok(url, 'POST', `${path}/delete`, { filter: { must: [{ key: 'n', range: { gte: 10, lt: 20 } }] } });
  await ok(url, 'POST', `${path}/payload/clear`, { points: [7] });
  expect(await count(url, name)).toBe(taken - 12);
  return taken - 12;
}

async function resumes(url: string, name: string): Promise<void> {
  await until(async () => {
    const { status } = await call(url, 'PUT', `/collections/${name}/points`, points(1_000_000));
    expect([200, 507]).toContain(status);
    return status === 200;
  }, 250);
}

/** The collection has a graph of all its points, and searches walk it. */
async function expectWalk(url: string, name: string): Promise<void> {
  const path = `/collections/${name}`;
  await until(async () => ((await ok(url, 'GET', path)) as { status: string }).status === 'green', 250);
  const [point] = points(1_000_000, 1).points;
  const search = { vector: point?.vector, limit: 1, params: { hnsw_ef: 16, explain: true } };
  const { result, explain } = await call(url, 'POST', `${path}/points/search`, search);
  expect(result).toMatchObject([{ score: 0 }]);
  expect(explain).toMatchObject({ plan: 'walk' });
  expect(explain?.hops).toBeGreaterThan(0);
}

/** The bytes that are taken on a disk, with those of files that are removed and still open. */
function usedBytes(path: string): number {
  const { blocks, bfree, bsize } = statfsSync(path);
  return (blocks - bfree) * bsize;
}

/** Bytes of the room that the server keeps for itself. It grows with the log, whatever is deleted. */
function reservedBytes(dataDir: string): number {
  const sizes = ['reserve', 'reserve.start'].map((name) =>
    statSync(join(dataDir, name), { throwIfNoEntry: false }),
  );
  return sizes.reduce((sum, stat) => sum + (stat?.blocks ?? 0) * 512, 0);
}

function fileSizes(folder: string): Record<string, number> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return Object.fromEntries(
    names.map((name) => [name, statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0]),
  );
}

let disks: SmallDisk[] = [];

afterEach(async () => {
  await ServerChild.killAll();
  for (const disk of disks) disk.unmount();
  disks = [];
});

/** A normal run takes one test in four; `npm run test:long -- cases` takes each on both kinds. */
describe.each([
  ['tmpfs', 0],
  ['ext4', 1],
] as const)('C1.5 a full %s', (kind, number) => {
  const mounted = itUnless(canMount(kind) ? undefined : `no right to mount ${kind}`);
  let made = number;

  /** A test that a normal run may leave out on this kind of disk. */
  function onDisk(name: string, work: () => Promise<void>): void {
    made += 1;
    if (isSampled(made, 4)) mounted(name, work, TIMEOUT_MS);
  }

  /** A disk for one test: what a test leaves on it is not there for the next. */
  function newDisk(megabytes: number): SmallDisk {
    const disk = mount(kind, megabytes);
    disks.push(disk);
    return disk;
  }

  onDisk(
    'refuses what grows, serves and deletes, and takes writes again when a collection is gone',
    async () => {
      const dataDir = join(newDisk(6).path, 'cycles');
      let server = new ServerChild(dataDir);
      let url = await server.ready;
      await create(url, 'kept');
      await ok(url, 'PUT', '/collections/kept/points', points(0));
      for (let cycle = 0; cycle < 3; cycle += 1) {
        await create(url, 'passing');
        const taken = await fill(url, 'passing');
        expect(taken).toBeGreaterThan(0);
        const left = await expectReadsAndDeletions(url, 'passing', taken);
        if (cycle === 1) {
          // A full disk must not keep a server from starting.
          server.signal('SIGKILL');
          await server.exit;
          server = new ServerChild(dataDir);
          url = await server.ready;
          expect(await count(url, 'passing')).toBe(left);
        }
        expect(await ok(url, 'DELETE', '/collections/passing')).toBe(true);
        await resumes(url, 'kept');
      }
      expect(await count(url, 'kept')).toBe(2 * BATCH);
      server.signal('SIGTERM');
      expect(await server.exit).toEqual({ code: 0, signal: null });
    },
  );

  onDisk(
    'takes writes again when another process makes room, without a restart, and has lost nothing',
    async () => {
      const { path } = newDisk(6);
      const dataDir = join(path, 'others');
      const ballast = join(path, 'ballast');
      writeFileSync(ballast, Buffer.alloc(2 * 1024 * 1024, 1));
      let server = new ServerChild(dataDir);
      let url = await server.ready;
      await create(url, 'c');
      const taken = await fill(url, 'c');
      const left = await expectReadsAndDeletions(url, 'c', taken);
      rmSync(ballast);
      await resumes(url, 'c');
      expect(await count(url, 'c')).toBe(left + BATCH);
      server.signal('SIGKILL');
      await server.exit;
      server = new ServerChild(dataDir);
      url = await server.ready;
      expect(await count(url, 'c')).toBe(left + BATCH);
      server.signal('SIGTERM');
      expect(await server.exit).toEqual({ code: 0, signal: null });
    },
  );

  for (const which of ['the oldest', 'three of each five']) {
    onDisk(`takes writes again when most points of an indexed collection are deleted: ${which}`, async () => {
      const { path } = newDisk(48);
      const dataDir = join(path, 'points');
      let server = new ServerChild(dataDir);
      let url = await server.ready;
      const usedBefore = usedBytes(path);
      await ok(url, 'PUT', '/collections/c', {
        vectors: { size: SIZE, distance: 'Euclid' },
        hnsw_config: { full_scan_threshold: 10 },
      });
      const taken = await fill(url, 'c', 200, 'text '.repeat(160));
      const dead = Array.from({ length: taken }, (_, id) => id).filter((id) =>
        which === 'the oldest' ? id < taken * 0.6 : id % 5 < 3,
      );
      for (let first = 0; first < dead.length; first += 500) {
        await ok(url, 'POST', '/collections/c/points/delete', { points: dead.slice(first, first + 500) });
      }
      const left = await count(url, 'c');
      await resumes(url, 'c');
      expect(await count(url, 'c')).toBe(left + BATCH);
      if (which === 'the oldest') {
        const held = (): number => usedBytes(path) - usedBefore - reservedBytes(dataDir);
        const files = (): unknown => ({ held: held(), left, files: fileSizes(join(dataDir, 'collections')) });
        await until(() => held() <= left * MAX_BYTES_A_POINT, 250, files);
      }
      server.signal('SIGTERM');
      expect(await server.exit).toEqual({ code: 0, signal: null });
      server = new ServerChild(dataDir);
      url = await server.ready;
      expect(await count(url, 'c')).toBe(left + BATCH);
      await resumes(url, 'c');
      await expectWalk(url, 'c');
      server.signal('SIGTERM');
      expect(await server.exit).toEqual({ code: 0, signal: null });
    });
  }
});
