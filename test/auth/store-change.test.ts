import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DIGEST_FILE, DigestFile } from '../../src/auth/store/digest-file';
import { openStore } from '../../src/auth/store/open';
import { StoreDamaged } from '../../src/auth/store/port';
import { diskCallsLibrary, readCalls, recorded } from '../disk/calls';
import { itUnless } from '../missing';
import { whyNoLibrary } from '../preloaded';
import { expectShut, withFile } from './store-checks';
import {
  CHANGES,
  contentOf,
  filesOf,
  folderWith,
  formerFiles,
  history,
  KILL_STEP,
  JOURNAL,
  removeFolders,
  STORE,
  type Files,
} from './store-history';

const TIMEOUT_MS = 3_600_000;

let states: readonly Files[];
let last: Files;
let former: Files;
beforeAll(async () => {
  states = await history();
  last = states.at(-1)!;
  former = await formerFiles();
});
afterAll(removeFolders);

const calls = mkdtempSync(join(tmpdir(), 'kithdb-calls-'));
afterAll(() => {
  rmSync(calls, { recursive: true });
});

/** Notes the calls of the disk and can end the process before one. */
const library = diskCallsLibrary(calls);
const withLibrary = itUnless(whyNoLibrary(library));

/** Makes a change in a process of its own, killed before a call of the disk; says what it printed, and its calls. */
async function changeIn(folder: string, change: string, killAt?: number) {
  const log = join(calls, 'log');
  writeFileSync(log, '');
  const child = spawn(process.execPath, [join(__dirname, 'store-change-child.cjs'), folder, change], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...recorded({ library: library!, folder, log, killAt }) },
  });
  let out = '';
  child.stdout.on('data', (piece: Buffer) => (out += piece.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, calls: readCalls(log).map(({ name, path }) => `${name} ${path}`) };
}

/** Places of calls in a list; each must be there, after the one before it. */
function expectInOrder(list: readonly string[], wanted: readonly string[]): void {
  let at = -1;
  for (const call of wanted) {
    const found = list.indexOf(call, at + 1);
    expect([call, list.slice(at + 1).join(', '), found >= 0]).toEqual([call, expect.anything(), true]);
    at = found;
  }
}

describe('C3.8 a change', () => {
  withLibrary('is synced, the digest before the commit and its name after it', async () => {
    const folder = folderWith(states[9]);
    // A sound store is not written when it is opened: a server must start on a full disk.
    expect((await changeIn(folderWith(states[9]), 'none')).calls).toEqual(['sync .']);
    const { code, out, calls: made } = await changeIn(folder, 'a deletion');
    expect({ code, out }).toEqual({ code: 0, out: 'open\nchanged\n' });
    expectInOrder(made, [
      `write ${DIGEST_FILE}.tmp`,
      `sync ${DIGEST_FILE}.tmp`,
      `sync ${JOURNAL}`,
      `write ${STORE}`,
      `sync ${STORE}`,
      `truncate ${JOURNAL}`,
      `sync ${JOURNAL}`,
      `rename ${DIGEST_FILE}`,
      'sync .',
    ]);
  });

  withLibrary(
    'that is killed at any call of the disk leaves a sound store, as it was before or after it',
    async () => {
      const all: [string, Files][] = Object.keys(CHANGES).map((change, at) => [change, states[at]!]);
      const few = all.filter(([change]) => change === 'enabling' || change === 'a deletion');
      // The first start, and that with a store of the former schema.
      const cases: [string, Files][] = [
        ...(KILL_STEP === 1 ? all : few),
        // The access token of the settings at a first start: token, record and setting are one change.
        ['an initial token', states[0]!],
        ['none', new Map()],
        ['none', former],
      ];
      for (const [at, [change, before]] of cases.entries()) {
        const ends = new Set<string>();
        for (let killAt = 1 + (at % KILL_STEP); ; killAt += KILL_STEP) {
          const folder = folderWith(before);
          const { code, out } = await changeIn(folder, change, killAt);
          const store = await openStore(folder, 'sqlite3').catch((error: unknown) => {
            throw new Error(`case ${at} (${change}) killed before call ${killAt}`, { cause: error });
          });
          const content = JSON.stringify(await contentOf(store));
          await store.close();
          ends.add(content);
          if (out.includes('changed')) {
            expect(content).toBe(await after(change, before));
          }
          rmSync(folder, { recursive: true });
          if (code === 0) break;
        }
        // As it was before, or after; three tokens are three changes.
        expect(ends.size).toBeLessThanOrEqual(change === 'more tokens' ? 4 : 2);
      }
    },
    TIMEOUT_MS,
  );

  /** What a store holds after a change. */
  async function after(change: string, before: Files): Promise<string> {
    const store = await openStore(folderWith(before), 'sqlite3');
    await CHANGES[change]!(store);
    const content = JSON.stringify(await contentOf(store));
    await store.close();
    return content;
  }

  it('that a full disk refuses is taken back whole', async () => {
    const folder = folderWith(last);
    const store = await openStore(folder, 'sqlite3');
    const before = [await contentOf(store), filesOf(folder)];
    const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    const prepare = jest.spyOn(DigestFile.prototype, 'prepare').mockRejectedValue(full);
    await expect(store.storeSetting('auth_enabled', 'false')).rejects.toBe(full);
    await expect(store.deleteToken(1)).rejects.toBe(full);
    await expect(store.replaceAdmin({ passwordHash: 'x', generation: 'x' })).rejects.toBe(full);
    prepare.mockRestore();
    expect([await contentOf(store), filesOf(folder)]).toEqual(before);
    expect(await store.deleteToken(1)).toBe(true);
    await store.close();
  });

  it('whose digest cannot take its place closes the store, and is there at the next start', async () => {
    const folder = folderWith(last);
    const store = await openStore(folder, 'sqlite3');
    const publish = jest.spyOn(DigestFile.prototype, 'publish').mockRejectedValueOnce(new Error('EIO'));
    await expect(store.deleteToken(1)).rejects.toThrow(StoreDamaged);
    publish.mockRestore();
    await expect(store.tokens()).rejects.toBe(store.fault);
    await store.close();
    const again = await openStore(folder, 'sqlite3');
    expect(await again.token(1)).toBeUndefined();
    await again.close();
  });

  it('is kept where a full disk prevents a start from bringing the digest file up', async () => {
    const folder = folderWith(withFile(last, DIGEST_FILE, states.at(-2)!.get(DIGEST_FILE)!));
    const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    const write = jest.spyOn(DigestFile.prototype, 'write').mockRejectedValueOnce(full);
    expect(await expectShut(folder)).toBe('open');
    write.mockRestore();
    expect(await expectShut(folder)).toBe('open');
    expect(filesOf(folder)).toEqual(last);
  });

  it('is made by a connection that syncs, with a journal whose damage is seen', async () => {
    const store = await openStore(folderWith(last), 'sqlite3');
    const { connection } = store as unknown as {
      connection: { rows(sql: string): Promise<Record<string, unknown>[]> };
    };
    expect(await connection.rows('PRAGMA synchronous')).toEqual([{ synchronous: 2 }]);
    expect(await connection.rows('PRAGMA journal_mode')).toEqual([{ journal_mode: 'truncate' }]);
    await store.close();
  });
});
