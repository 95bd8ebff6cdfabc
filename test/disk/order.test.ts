import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HURRIED, ServerChild } from '../crash/server-child';
import { kithdbWith } from '../operations/command';
import { describeUnless } from '../missing';
import { whyNoLibrary } from '../preloaded';
import { type DiskCall, diskCallsLibrary, mark, readCalls, recorded } from './calls';
import {
  areDurableBefore,
  type Checked,
  dataIsSyncedBeforeManifests,
  DiskOrder,
  everythingIsSyncedBeforeTheLogIsCut,
  FIRST_POINT_MARK,
  foldersAreSyncedBeforeWhatIsInThem,
  manifestsAreSyncedBeforeDataGoes,
  recordsAreSyncedBeforeAnswers,
  replacementsAreSynced,
  segmentsAreSyncedBeforeTheNext,
} from './order';

const CLIENTS = 4;
/** How often the server does each thing in the background. */
const OFTEN = 3;
/** The manifest of the collection that gets the points. */
const manifest = /^collections\/0*1\/MANIFEST$/;

const folder = mkdtempSync(join(tmpdir(), 'kithdb-disk-'));
const dataDir = join(folder, 'data');
const log = join(folder, 'calls');
const library = diskCallsLibrary(folder);
const withLibrary = describeUnless(whyNoLibrary(library));
mkdirSync(dataDir);

afterEach(ServerChild.killAll);
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Sends a request that must succeed; its answer has the mark, which is the id of the request. */
async function send(
  url: string,
  number: number,
  method: string,
  path: string,
  body?: unknown,
): Promise<void> {
  const headers = { 'content-type': 'application/json', 'x-request-id': mark(number) };
  const answer = await fetch(url + path, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  await answer.arrayBuffer();
  expect([method, path, answer.status]).toEqual([method, path, 200]);
}

/**
 * Writes on some connections until the server has done everything in the background that the test is about; how many of
 * the writes have a mark.
 */
async function load(url: string, isEnough: () => boolean): Promise<number> {
  const collection = `/collections/${mark(0)}`;
  await send(url, 0, 'PUT', collection, {
    vectors: { size: 32, distance: 'Euclid' },
    hnsw_config: { m: 8, ef_construct: 32, full_scan_threshold: 10 },
  });
  let last = FIRST_POINT_MARK;
  let isOver = false;
  const write = async (): Promise<void> => {
    while (!isOver) {
      const number = (last += 1);
      const vector = Array.from({ length: 32 }, (_, at) => (number * (at + 7)) % 101);
      const point = { id: number % 200, vector, payload: { text: `${mark(number)} ${'x'.repeat(200)}` } };
      await send(url, number, 'PUT', `${collection}/points`, { points: [point] });
    }
  };
  let creations = 1;
  const comeAndGo = async (): Promise<void> => {
    for (; !isEnough(); creations += 1) {
      const path = `/collections/${mark(creations)}`;
      await send(url, creations, 'PUT', path, { vectors: { size: 2, distance: 'Dot' } });
      await fetch(url + path, { method: 'DELETE' });
    }
    isOver = true;
  };
  await Promise.all([comeAndGo(), ...Array.from({ length: CLIENTS }, write)]);
  return last - FIRST_POINT_MARK + creations;
}

function expectToHold(checked: Checked, least = 1): void {
  expect(checked.broken).toEqual([]);
  expect(checked.applied).toBeGreaterThanOrEqual(least);
}

/** Below a folder, with the folders. */
function namesIn(path: string): readonly string[] {
  return readdirSync(path, { recursive: true }) as string[];
}

let order: DiskOrder;
let acknowledged: number;
beforeAll(async () => {
  if (library === undefined) return;
  const env = recorded({ library, folder: dataDir, log });
  const server = new ServerChild(dataDir, { launcher: HURRIED, env });
  const url = await server.ready;
  const isEnough = (): boolean => {
    const calls = readFileSync(log, 'utf8');
    const isDoneOften = (call: RegExp): boolean => (calls.match(call)?.length ?? 0) >= OFTEN;
    return [
      /\tunlink\t0\t.*\tlog\/\w+\.log\t/g,
      /\tunlink\t0\t.*\.data\t/g,
      /\trename\t0\t.*\tcatalog\/CATALOG\t/g,
      /\trename\t0\t.*\tlog\/cut\t/g,
    ].every(isDoneOften);
  };
  acknowledged = await load(url, isEnough);
  server.signal('SIGTERM');
  expect(await server.exit).toEqual({ code: 0, signal: null });
  order = new DiskOrder(readCalls(log));
});

withLibrary('C10.1 a server on the real disk', () => {
  it('syncs the log before it answers', () => {
    expectToHold(recordsAreSyncedBeforeAnswers(order), acknowledged);
  });

  it('syncs a segment of the log before it has its name, and then its folder', () => {
    expectToHold(replacementsAreSynced(order, /^log\/\w+\.log$/), OFTEN);
    expectToHold(segmentsAreSyncedBeforeTheNext(order), OFTEN);
  });

  it('syncs the data files of a checkpoint, and their names, before its manifest', () => {
    expectToHold(dataIsSyncedBeforeManifests(order), OFTEN);
  });

  it('syncs a manifest before it is in force, and then its folder, and only then removes data files', () => {
    expectToHold(replacementsAreSynced(order, /^collections\/\w+\/MANIFEST$/), OFTEN);
    expectToHold(manifestsAreSyncedBeforeDataGoes(order), OFTEN);
  });

  it('syncs the catalog, its copy, and both marks of the cut before they are in force, and then their folders', () => {
    for (const path of [/^catalog\/CATALOG$/, /^collections\/CATALOG$/, /^catalog\/cut$/, /^log\/cut$/]) {
      expectToHold(replacementsAreSynced(order, path), OFTEN);
    }
  });

  it('removes a segment of the log when everything that it has is durable elsewhere', () => {
    expectToHold(everythingIsSyncedBeforeTheLogIsCut(order, manifest), OFTEN);
  });

  it('syncs the names of folders before anything in them counts', () => {
    expectToHold(foldersAreSyncedBeforeWhatIsInThem(order), 4);
  });
});

withLibrary('C11.4 a command on the real disk', () => {
  const target = join(folder, 'target');
  beforeAll(() => {
    mkdirSync(target);
  });

  /** Runs a command; what it did below the folder that has its target. */
  async function orderOf(...argv: readonly string[]): Promise<DiskOrder> {
    const callsOfCommand = join(folder, `calls of ${argv.length} ${argv[0]!}`);
    const env = recorded({ library: library!, folder: target, log: callsOfCommand });
    expect(await kithdbWith(env, ...argv)).toMatchObject({ code: 0, err: '' });
    return new DiskOrder(readCalls(callsOfCommand));
  }

  /** The one call of its kind. */
  function only(order: DiskOrder, name: 'rename' | 'create' | 'unlink', path: string): DiskCall {
    const calls = order.calls.filter((call) => call.name === name && call.path === path);
    expect(calls).toHaveLength(1);
    return calls[0]!;
  }

  function expectBackup(order: DiskOrder, name: string): void {
    const paths = namesIn(join(target, name, 'data')).map((path) => `${name}/data/${path}`);
    expect(paths.length).toBeGreaterThan(6);
    const completed = only(order, 'rename', `${name}/BACKUP.json`);
    expectToHold(areDurableBefore(order, [name, `${name}/data`, ...paths], completed), paths.length);
    expect(order.isContentSynced(completed, completed.begin)).toBe(true);
    expect(order.isNameSynced(completed, Infinity)).toBe(true);
  }

  it('backs up: everything is synced before the file that makes it a backup, and then its folder', async () => {
    const server = new ServerChild(dataDir, { launcher: HURRIED });
    await server.ready;
    const from = ['--data-dir', dataDir, '--to'];
    expectBackup(await orderOf('backup', ...from, join(target, 'live')), 'live');
    server.signal('SIGTERM');
    await server.exit;
    expectBackup(await orderOf('backup', ...from, join(target, 'rest')), 'rest');
    const base = ['--base', join(target, 'rest')];
    expectBackup(await orderOf('backup', ...from, join(target, 'linked'), ...base), 'linked');
  });

  it('restores: its mark is durable first, and goes when everything is synced', async () => {
    const order = await orderOf(
      'restore',
      '--from',
      join(target, 'live'),
      '--data-dir',
      join(target, 'data'),
    );
    // The file that is locked says nothing.
    const made = namesIn(join(target, 'data')).filter((path) => path !== 'lock');
    const paths = made.map((path) => `data/${path}`);
    const marked = only(order, 'create', 'data/RESTORING');
    // Not even a folder without it may be taken for a data directory.
    const isMade = ({ name, path }: DiskCall): boolean =>
      (name === 'create' || name === 'mkdir') &&
      path.startsWith('data/') &&
      !['data/lock', marked.path].includes(path);
    const others = order.calls.filter(isMade);
    expect(others.length).toBeGreaterThan(6);
    expect(order.isNameSynced(marked, others[0]!.begin)).toBe(true);
    const unmarked = only(order, 'unlink', 'data/RESTORING');
    expectToHold(areDurableBefore(order, ['data', ...paths], unmarked), paths.length);
    expect(order.isNameSynced(unmarked, Infinity)).toBe(true);
  });
});
