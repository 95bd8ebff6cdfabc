import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockDataDir } from '../../src/engine/offline';
import type { digestOf } from '../../src/operations/copying';
import { kithdbHere } from './command';
import { Served } from './served';

/** Called before a file of the backup is verified. */
let mockVerifying: (() => void) | undefined;
jest.mock('../../src/operations/copying', () => {
  const actual = jest.requireActual<Record<'digestOf', typeof digestOf>>('../../src/operations/copying');
  const watched: typeof digestOf = (path) => {
    mockVerifying?.();
    return actual.digestOf(path);
  };
  return { ...actual, digestOf: watched };
});

const SOURCE = '/collections/c/points/sync';
const synced = (ids: readonly number[], more: object) => ({
  scope: { must: { key: 'n', match: { value: 0 } } },
  hash_key: 'n',
  points: ids.map((id) => ({ id, hash: 0 })),
  sync_id: 's',
  ...more,
});

const folder = mkdtempSync(join(tmpdir(), 'kithdb-restore-test-'));
const backup = join(folder, 'backup');
let target: string;
beforeAll(async () => {
  const dataDir = join(folder, 'data');
  const server = await Served.here(dataDir);
  await server.create('c');
  await server.upsert('c', 0, 4);
  // A part that waits for the others. The backup has no note of it.
  expect(await server.call('PUT', SOURCE, synced([0, 1], {}))).toEqual({ staged: 2 });
  expect((await kithdbHere('backup', '--data-dir', dataDir, '--to', backup)).code).toBe(0);
  await server.stop();
});
beforeEach(() => {
  target = mkdtempSync(join(folder, 'target-'));
});
afterEach(() => {
  mockVerifying = undefined;
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function restore() {
  return kithdbHere('restore', '--from', backup, '--data-dir', target);
}

describe('C18 a restore has its folder for itself', () => {
  it('and writes nothing into one that another process has, also where that came while it verified', async () => {
    for (const comesLater of [false, true]) {
      let lock: ReturnType<typeof lockDataDir> | undefined;
      const take = (): void => {
        lock ??= lockDataDir(target);
      };
      if (comesLater) mockVerifying = take;
      else take();
      expect(await restore()).toEqual({
        code: 1,
        out: '',
        err: expect.stringMatching(
          /^kithdb: Nothing was restored into .*: .* is in use by process \d+: stop/,
        ),
      });
      expect(readdirSync(target)).toEqual(['lock']);
      lock?.release();
      mockVerifying = undefined;
    }
    // What was locked and not used is empty.
    expect(await restore()).toMatchObject({ code: 0, err: '' });
    expect(readdirSync(target)).toEqual(
      expect.arrayContaining(['auth.sqlite3', 'catalog', 'collections', 'lock', 'log']),
    );
    expect(existsSync(join(target, 'RESTORING'))).toBe(false);
    lockDataDir(target).release();
  });

  it('and writes nothing into one that was used while it verified', async () => {
    mockVerifying = () => {
      writeFileSync(join(target, 'other'), '');
    };
    expect(await restore()).toMatchObject({
      code: 1,
      err: expect.stringMatching(/target-\w+ is not empty: /),
    });
    expect(readdirSync(target)).toEqual(['other']);
  });

  it('and says whether one that was begun runs still', async () => {
    const lock = lockDataDir(target);
    writeFileSync(join(target, 'RESTORING'), '');
    expect((await restore()).err).toMatch(/in use by process/);
    lock.release();
    expect((await restore()).err).toMatch(/a restore .* did not come to its end: empty it and restore again/);
    expect(readdirSync(target).sort()).toEqual(['RESTORING', 'lock']);
  });

  it('and takes no folder with something else in it', async () => {
    mkdirSync(join(target, 'lost+found'));
    writeFileSync(join(target, 'lock'), '');
    mkdirSync(join(target, 'log'));
    expect((await restore()).err).toMatch(/is not empty/);
    expect(existsSync(join(target, 'RESTORING'))).toBe(false);
  });
});

it('C20 the last part of a sync whose parts are not in the backup deletes nothing', async () => {
  expect((await restore()).code).toBe(0);
  const server = await Served.here(target);
  try {
    const last = synced([2, 3], { last: true });
    await expect(server.call('PUT', SOURCE, last)).rejects.toThrow(/409 .*staged: is needed here/);
    expect(await server.points('c')).toHaveLength(4);
    // A part that says that it is all of the source is taken.
    expect(await server.call('PUT', SOURCE, { ...last, staged: 0 })).toMatchObject({
      unchanged: 2,
      deleted: 2,
    });
  } finally {
    await server.stop();
  }
});
