import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { itUnless } from '../missing';
import { preloadedLibrary, whyNoLibrary } from '../preloaded';
import { ok } from './requests';
import { ServerChild } from './server-child';

/**
 * The bound of C11.3 times three: on a busy machine a stop may be late, and one that waits for the slow disk, or hangs, takes
 * longer than that.
 */
const CONTRACT_STOP_MS = 10_000;
const STOP_MS = 3 * CONTRACT_STOP_MS;
const COLLECTIONS = 600;
/** Requests at a time. */
const CLIENTS = 8;

const folder = mkdtempSync(join(tmpdir(), 'kithdb-stop-'));
/** While this file exists, every sync takes 50 ms more. */
const mark = join(folder, 'slow');

/** While this file exists, no sync returns. */
const hanging = join(folder, 'hanging');

/** How many collections of a data directory have a checkpoint. */
function checkpointed(dataDir: string): number {
  const collections = join(dataDir, 'collections');
  return readdirSync(collections).filter((name) => existsSync(join(collections, name, 'MANIFEST'))).length;
}

/** Does something for each collection, a few at a time. */
async function forEachCollection(act: (name: string, number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const client = async (): Promise<void> => {
    for (let number = next++; number < COLLECTIONS; number = next++) await act(`c${number}`, number);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

afterEach(ServerChild.killAll);
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Makes syncs slow. */
const library = preloadedLibrary(join(__dirname, 'failing-sync.c'), join(folder, 'slow-sync.so'));
const withLibrary = itUnless(whyNoLibrary(library));

withLibrary(
  'C11.3 a stop with hundreds of dirty collections on a slow disk ends within three times the 10 s of the contract and loses nothing',
  async () => {
    const dataDir = join(folder, 'data');
    let server = new ServerChild(dataDir, { env: { LD_PRELOAD: library, SLOW_SYNC: mark } });
    let url = await server.ready;
    await forEachCollection(async (name, number) => {
      await ok(url, 'PUT', `/collections/${name}`, { vectors: { size: 2, distance: 'Dot' } });
      const points = Array.from({ length: 1 + (number % 3) }, (_, id) => ({ id, vector: [id, 1] }));
      await ok(url, 'PUT', `/collections/${name}/points`, { points });
    });
    // Checkpoints of all of them would take the syncs of one thread a minute and a half.
    writeFileSync(mark, '');
    expect(checkpointed(dataDir)).toBeLessThan(COLLECTIONS / 2);
    const before = performance.now();
    server.signal('SIGTERM');
    expect(await server.exit).toEqual({ code: 0, signal: null });
    expect(performance.now() - before).toBeLessThan(STOP_MS);
    // Some are still dirty: the stop has met the slow disk, and has not waited for it.
    expect(checkpointed(dataDir)).toBeLessThan(COLLECTIONS);
    rmSync(mark);
    server = new ServerChild(dataDir);
    url = await server.ready;
    await forEachCollection(async (name, number) => {
      const counted = await ok(url, 'POST', `/collections/${name}/points/count`, {});
      expect([name, counted]).toEqual([name, { count: 1 + (number % 3) }]);
    });
    server.signal('SIGTERM');
    expect(await server.exit).toEqual({ code: 0, signal: null });
  },
);

withLibrary(
  'C11.3 a process whose stop hangs ends within three times the 10 s of the contract and loses nothing',
  async () => {
    const dataDir = join(folder, 'hangs');
    let server = new ServerChild(dataDir, { env: { LD_PRELOAD: library, HANGING_SYNC: hanging } });
    let url = await server.ready;
    await ok(url, 'PUT', '/collections/c', { vectors: { size: 2, distance: 'Dot' } });
    const points = Array.from({ length: 100 }, (_, id) => ({ id, vector: [id, 1] }));
    await ok(url, 'PUT', '/collections/c/points?wait=true', { points });
    writeFileSync(hanging, '');
    const before = performance.now();
    server.signal('SIGTERM');
    expect(await server.exit).toEqual({ code: 0, signal: null });
    expect(performance.now() - before).toBeLessThan(STOP_MS);
    expect(server.output).toContain('the time of a stop is over');
    rmSync(hanging);
    server = new ServerChild(dataDir);
    url = await server.ready;
    expect(await ok(url, 'POST', '/collections/c/points/count', {})).toEqual({ count: 100 });
    server.signal('SIGTERM');
    expect(await server.exit).toEqual({ code: 0, signal: null });
  },
);
