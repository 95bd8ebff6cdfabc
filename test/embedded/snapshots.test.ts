import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  BadRequestError,
  connect,
  ConnectionError,
  NotFoundError,
  open,
  startServer,
  type EmbeddedClient,
  type KithClient,
} from '../../src/index';
import { lockDataDir } from '../../src/engine/offline';
import { filesIn } from '../../src/snapshots/archive';
import { SnapshotStore } from '../../src/snapshots/store';
import { Member } from './member';

let folder: string;
const cleanUps: (() => Promise<unknown>)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-embedded-snapshots-'));
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  await Member.killAll();
  rmSync(folder, { recursive: true, force: true });
});

const CONFIG = { vectors: { size: 2, distance: 'Dot' } } as const;
const points = (...ids: number[]) => ({ points: ids.map((id) => ({ id, vector: [id, 1] })) });

async function opening(...args: Parameters<typeof open>): Promise<EmbeddedClient> {
  const db = await open(...args);
  cleanUps.push(() => db.close());
  return db;
}

/** How a program reaches a database. */
const WAYS: Readonly<Record<string, () => Promise<KithClient>>> = {
  'the owner of a folder': () => opening(folder),
  'a process that is attached to a folder': async () => {
    await opening(folder);
    return opening(folder);
  },
  'a client over HTTP': async () => {
    const server = await startServer({ settings: { KITHDB_DIALECT: 'qdrant' } });
    cleanUps.push(() => server.stop());
    const db = connect(server.url);
    cleanUps.push(() => db.close());
    return db;
  },
};

describe.each(Object.entries(WAYS))('snapshots by %s', (_, connected) => {
  it('C12, C18 of a collection are made, listed, recovered and removed', async () => {
    const db = await connected();
    await db.createCollection('c', CONFIG);
    await db.upsert('c', points(1, 2, 3));
    expect(await db.listSnapshots('c')).toEqual([]);
    const made = await db.createSnapshot('c');
    expect(made).toMatchObject({ name: expect.stringMatching(/^c-\d{20}-/), checksum: expect.any(String) });
    expect(await db.listSnapshots('c')).toEqual([made]);
    await db.delete('c', { points: [1, 2] });
    const { name, checksum } = made as { name: string; checksum: string };
    const wrong = 'f'.repeat(64);
    await expect(db.recoverSnapshot('c', { location: name, checksum: wrong })).rejects.toThrow(
      BadRequestError,
    );
    expect(await db.count('c')).toEqual({ count: 1 });
    expect(await db.recoverSnapshot('c', { location: name, checksum })).toBe(true);
    expect(await db.count('c')).toEqual({ count: 3 });
    expect(await db.recoverSnapshot('other', { location: `file:///anywhere/${name}` })).toBe(true);
    await db.upsert('other', points(4));
    expect([await db.count('c'), await db.count('other')]).toEqual([{ count: 3 }, { count: 4 }]);
    expect(await db.deleteSnapshot('c', name)).toBe(true);
    await expect(db.deleteSnapshot('c', name)).rejects.toThrow(NotFoundError);
    expect(await db.listSnapshots('c')).toEqual([]);
  });

  it('C12, C18 of all collections are made, listed, recovered and removed', async () => {
    const db = await connected();
    for (const name of ['a', 'b']) {
      await db.createCollection(name, CONFIG);
      await db.upsert(name, points(1));
    }
    const full = await db.createFullSnapshot();
    expect(await db.listFullSnapshots()).toEqual([full]);
    await db.deleteCollection('a');
    await db.upsert('b', points(2));
    if (!('login' in db)) {
      // Over HTTP only the admin may (C12).
      expect(await db.recoverFullSnapshot({ location: full.name })).toBe(true);
      expect([await db.count('a'), await db.count('b')]).toEqual([{ count: 1 }, { count: 1 }]);
    }
    expect(await db.deleteFullSnapshot(full.name)).toBe(true);
    expect(await db.listFullSnapshots()).toEqual([]);
  });

  it('C12, C18 that cannot be are the same errors', async () => {
    const db = await connected();
    await expect(db.listSnapshots('none')).rejects.toThrow(NotFoundError);
    await expect(db.createSnapshot('none')).rejects.toThrow(NotFoundError);
    await expect(db.createSnapshot('')).rejects.toThrow(BadRequestError);
    await expect(db.recoverSnapshot('c', { location: 'none.snapshot' })).rejects.toThrow(NotFoundError);
    await expect(db.recoverSnapshot('c', { location: 'https://example.org/a' })).rejects.toThrow(
      'never from a URL',
    );
    await expect(db.recoverSnapshot('c', {} as { location: string })).rejects.toThrow('location');
    expect(await db.getCollections()).toEqual({ collections: [] });
  });
});

it('C12, C18 a snapshot that a program made is one of the server that has the folder later', async () => {
  const db = await open(folder);
  await db.createCollection('c', CONFIG);
  const made = await db.createSnapshot('c');
  await db.close();
  await expect(db.createSnapshot('c')).rejects.toThrow(ConnectionError);
  const server = await startServer({ dataDir: folder, settings: { KITHDB_DIALECT: 'qdrant' } });
  cleanUps.push(() => server.stop());
  const remote = connect(server.url);
  cleanUps.push(() => remote.close());
  expect(await remote.listSnapshots('c')).toEqual([made]);
});

it('C18 a process that only reads lists snapshots, and makes, recovers and removes none', async () => {
  const owner = await opening(folder);
  await owner.createCollection('c', CONFIG);
  const made = await owner.createSnapshot('c');
  const reader = await opening(folder, { readOnly: true });
  expect(await reader.listSnapshots('c')).toEqual([made]);
  for (const refused of [
    () => reader.createSnapshot('c'),
    () => reader.deleteSnapshot('c', made.name),
    () => reader.recoverSnapshot('c', { location: made.name }),
  ]) {
    await expect(refused()).rejects.toThrow('the folder is open for reading only (readOnly)');
  }
});

it('C18 snapshots and recoveries go on when the owner of the folder is killed', async () => {
  const owner = await Member.open(folder);
  const db = await opening(folder);
  await db.createCollection('c', CONFIG);
  await db.upsert('c', points(...Array.from({ length: 2000 }, (_, id) => id)));
  const before = await db.createSnapshot('c');
  await db.upsert('c', points(5000));
  const making = db.createSnapshot('c');
  owner.kill();
  const during = await making;
  expect((await db.listSnapshots('c')).map(({ name }) => name).sort()).toEqual(
    [before.name, during.name].sort(),
  );
  const second = await Member.open(folder);
  await db.recoverSnapshot('c', { location: before.name });
  expect(await db.count('c')).toEqual({ count: 2000 });
  await db.recoverSnapshot('c', { location: during.name });
  expect(await db.count('c')).toEqual({ count: 2001 });
  second.kill();
});

const LIMITS = { maxSnapshots: 1, maxSnapshotBytes: 1 };
const unfinished = (): string => join(folder, 'snapshots', 'unfinished');

it('C12, C18 what nobody is at work on is removed by the owner, whatever numbers processes have', async () => {
  const owner = await opening(folder);
  const other = await opening(folder);
  await owner.createCollection('c', CONFIG);
  // A process of another container has any number, or that of one that runs here.
  const [left, held] = [`${process.ppid}-left`, '4194305-held'].map((name) => join(unfinished(), name)) as [
    string,
    string,
  ];
  for (const path of [left, held]) mkdirSync(join(path, '1'), { recursive: true });
  const lock = lockDataDir(held);
  try {
    await other.createSnapshot('c');
    expect([left, held].map((path) => existsSync(path))).toEqual([true, true]);
    await owner.createSnapshot('c');
    expect([left, held].map((path) => existsSync(path))).toEqual([false, true]);
  } finally {
    lock.release();
  }
  await owner.createSnapshot('c');
  expect(readdirSync(unfinished())).toEqual([]);
});

/** The module as another thread of this process has it: with variables of its own. */
function otherStore(): SnapshotStore {
  let store: SnapshotStore | undefined;
  jest.isolateModules(() => {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- it is the way to have a module twice
    const copy = require('../../src/snapshots/store') as { SnapshotStore: typeof SnapshotStore };
    store = new copy.SnapshotStore(folder, LIMITS);
  });
  return store as unknown as SnapshotStore;
}

it.each([
  ['clients of one process', () => new SnapshotStore(folder, LIMITS)],
  ['threads of one process', otherStore],
])('C12 %s leave each other the folders of unfinished snapshots', async (_, another) => {
  const [one, other] = [new SnapshotStore(folder, LIMITS), another()];
  const path = await one.withWorkFolder(async (work) => {
    await other.removeUnfinished();
    expect(existsSync(work.path)).toBe(true);
    return work.path;
  });
  expect(existsSync(path)).toBe(false);
});

it('C12 a folder that others remove at the same time is never held by two, and never half there', async () => {
  const [one, other] = [new SnapshotStore(folder, LIMITS), otherStore()];
  const done = new AbortController();
  const removing = (async () => {
    while (!done.signal.aborted) await other.removeUnfinished();
  })();
  const work = async (): Promise<void> => {
    for (let round = 0; round < 5; round += 1) {
      await one.withWorkFolder(async ({ path, below }) => {
        await below('1');
        for (let name = 0; name < 20; name += 1) await writeFile(join(path, '1', String(name)), '');
        expect(readdirSync(join(path, '1'))).toHaveLength(20);
      });
    }
  };
  try {
    await Promise.all([work(), work()]);
  } finally {
    done.abort();
    await removing;
  }
  await other.removeUnfinished();
  expect(readdirSync(unfinished())).toEqual([]);
});

it('C12 files without their manifest are no snapshot', async () => {
  const files = join(folder, '1');
  mkdirSync(files);
  writeFileSync(join(files, '00000001.data'), '');
  await expect(filesIn(files)).rejects.toThrow('no manifest');
  writeFileSync(join(files, 'MANIFEST'), 'm');
  expect(await filesIn(files)).toEqual([
    { name: '00000001.data', bytes: 0 },
    { name: 'MANIFEST', bytes: 1 },
  ]);
});
