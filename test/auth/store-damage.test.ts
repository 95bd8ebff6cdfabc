import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { copyStoreAtRest, storeProblems } from '../../src/auth/store/copy';
import { DIGEST_FILE } from '../../src/auth/store/digest-file';
import { StoreUnavailable, type SqlConnection } from '../../src/auth/store/connection';
import { openStore } from '../../src/auth/store/open';
import { StoreDamaged } from '../../src/auth/store/port';
import { repairStore } from '../../src/auth/store/repair';
import { join } from 'node:path';
import { expectShut, generationOf, open, runSql, withFile } from './store-checks';
import {
  digest,
  type Files,
  filesOf,
  folderWith,
  formerFiles,
  history,
  JOURNAL,
  LIVE,
  refill,
  removeFolders,
  rollbackJournal,
  serveData,
  STORE,
} from './store-history';

/** How many flips, and the number that decides which. */
const FLIPS = Number(process.env['KITHDB_AUTH_FLIPS'] ?? 80);
const FIRST_FLIP = Number(process.env['KITHDB_FIRST_AUTH_FLIP'] ?? 0);
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

/** Numbers that look random and that a seed repeats. */
function numbers(seed: number): (below: number) => number {
  let state = (seed * 2654435761 + 12345) >>> 0;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

describe('C3.8 a store that is damaged', () => {
  it(
    'opens to nobody after any flip of a bit in the store, its journal or its digest file',
    async () => {
      const before = states.at(-2)!;
      const hot = rollbackJournal(before.get(STORE)!, last.get(STORE)!);
      const bases: readonly (readonly [Files, readonly string[]])[] = [
        [last, [STORE]],
        [last, [DIGEST_FILE]],
        // A crash in the last change: the store is changed, and its journal and the digest are of before.
        [withFile(last, JOURNAL, hot), [STORE, JOURNAL]],
      ];
      const folder = folderWith();
      serveData(folder);
      const ends = { closed: 0, open: 0 };
      for (let flip = FIRST_FLIP; flip < FIRST_FLIP + FLIPS; flip += 1) {
        const random = numbers(flip + 1);
        random(2);
        const [base, names] = bases[random(bases.length)]!;
        const name = names[random(names.length)]!;
        const bytes = Buffer.from(base.get(name)!);
        const bit = random(bytes.length * 8);
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        refill(folder, withFile(base, name, bytes));
        try {
          ends[await expectShut(folder)] += 1;
        } catch (error) {
          throw new Error(`flip ${flip}: bit ${bit} of ${name}`, { cause: error });
        }
      }
      expect(ends.closed + ends.open).toBe(FLIPS);
      expect(ends.closed).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  it('is closed by each flip of the rows themselves, and of the digest file', async () => {
    const folder = folderWith();
    for (const text of ['true', 'reader 1', 'the password', 'read,write']) {
      const bytes = Buffer.from(last.get(STORE)!);
      // Pages keep bytes of former rows.
      for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text)) bytes[at]! ^= 1;
      refill(folder, withFile(last, STORE, bytes));
      expect([text, await open(folder)]).toEqual([text, expect.any(StoreDamaged)]);
    }
    for (const at of [3, 40, 200, last.get(DIGEST_FILE)!.length - 3]) {
      const bytes = Buffer.from(last.get(DIGEST_FILE)!);
      bytes[at]! ^= 1;
      refill(folder, withFile(last, DIGEST_FILE, bytes));
      expect(await open(folder)).toBeInstanceOf(StoreDamaged);
    }
  });

  it('is closed by every older copy of the store, whatever stands beside it', async () => {
    const folder = folderWith();
    for (const older of states) {
      if (generationOf(older) === generationOf(last)) continue;
      refill(folder, withFile(last, STORE, older.get(STORE)!));
      const found = await open(folder);
      expect(found).toBeInstanceOf(StoreDamaged);
      expect((found as StoreDamaged).message).toMatch(/it is older \(generation \d+\) than auth\.digest/);
      expect((await storeProblems(folder)).map(({ what }) => what).join()).toMatch(/^it is older/);
    }
  });

  it('is closed by every older journal, which undoes the changes since', async () => {
    const folder = folderWith();
    for (const older of states) {
      if (generationOf(older) === generationOf(last)) continue;
      const journal = rollbackJournal(older.get(STORE)!, last.get(STORE)!);
      refill(folder, withFile(last, JOURNAL, journal));
      expect(await open(folder)).toBeInstanceOf(StoreDamaged);
    }
  });

  it('is closed without its store, its digest file, or the row that says whether authentication is enabled', async () => {
    const folder = folderWith();
    for (const lost of [STORE, DIGEST_FILE]) {
      refill(folder, new Map([...last].filter(([name]) => name !== lost)));
      expect(await open(folder)).toBeInstanceOf(StoreDamaged);
      expect(await storeProblems(folder)).toHaveLength(1);
      refill(folder, withFile(last, lost, Buffer.alloc(0)));
      expect(await open(folder)).toBeInstanceOf(StoreDamaged);
    }
    for (const sql of [
      "DELETE FROM setting WHERE name = 'auth_enabled'",
      "UPDATE setting SET value = 'tsue' WHERE name = 'auth_enabled'",
      'DELETE FROM access_token WHERE id = 1',
      "UPDATE access_token SET permission = 'read,write,admin' WHERE id = 1",
      'UPDATE sqlite_sequence SET seq = 1',
      "UPDATE setting SET value = '{}' WHERE name = 'digest'",
      'DROP TABLE admin',
      'PRAGMA user_version = 99',
    ]) {
      refill(folder, last);
      await runSql(folder, sql);
      expect([sql, await open(folder)]).toEqual([sql, expect.any(StoreDamaged)]);
      expect(await storeProblems(folder)).not.toEqual([]);
    }
    refill(folder, last);
    expect(await expectShut(folder)).toBe('open');
    expect(await storeProblems(folder)).toEqual([]);
  });

  it.each([
    ['DELETE FROM access_token WHERE id = 1', 'the access tokens'],
    ['DELETE FROM admin', 'the admin'],
  ])('%s is a problem of %s', async (sql, what) => {
    const folder = folderWith(last);
    await runSql(folder, sql);
    expect(await storeProblems(folder)).toEqual([
      { file: 'store', what: `${what}: rows are missing, or there are others than were written` },
    ]);
  });

  it('is not known where a later release wrote the catalog of the engine, which it is compared with', async () => {
    const folder = folderWith(last);
    mkdirSync(join(folder, 'catalog'));
    // A version that no release has, and the checksum of a body without bytes.
    writeFileSync(join(folder, 'catalog', 'CATALOG'), 'KITHCATA\x63\0\0\0\0\0\0\0');
    const problems = storeProblems(folder);
    await expect(problems).rejects.toThrow(StoreUnavailable);
    await expect(problems).rejects.toThrow(/^The catalog of the engine, .* cannot be read: /);
  });

  it('is closed by the digest file of other changes, and by a state that nobody knows', async () => {
    const [one, other] = [folderWith(last), folderWith(last)];
    for (const [folder, id] of [
      [one, 1],
      [other, 3],
    ] as const) {
      const store = await openStore(folder, 'sqlite3');
      await store.deleteToken(id);
      await store.close();
    }
    const mixed = withFile(filesOf(one), DIGEST_FILE, filesOf(other).get(DIGEST_FILE)!);
    expect(await open(folderWith(mixed))).toMatchObject({
      message: expect.stringMatching(/it has other rows than auth\.digest says of the same generation/),
    });
    const store = await openStore(one, 'sqlite3');
    await store.storeSetting('auth_enabled', 'tsue');
    await store.close();
    expect(await open(one)).toMatchObject({
      message: expect.stringMatching(/the setting auth_enabled has the unknown value "tsue"/),
    });
  });

  it('is closed when a row is found damaged after it was opened', async () => {
    const folder = folderWith(last);
    const found: StoreDamaged[] = [];
    const store = await openStore(folder, 'sqlite3', { onFault: (fault) => found.push(fault) });
    const { connection } = store as unknown as { connection: SqlConnection };
    await connection.script('PRAGMA shrink_memory');
    const bytes = readFileSync(join(folder, STORE));
    for (let at = bytes.indexOf('read,write'); at >= 0; at = bytes.indexOf('read,write')) bytes[at]! ^= 1;
    writeFileSync(join(folder, STORE), bytes, { flag: 'r+' });
    await expect(store.tokenByDigest(digest('kept'))).rejects.toThrow(/a row is not what was written/);
    expect(found).toEqual([store.fault]);
    await expect(store.setting('auth_enabled')).rejects.toBe(store.fault);
    await store.close();
  });

  it('accepts a store that is newer than its digest file, and brings that up', async () => {
    const folder = folderWith();
    for (const older of states) {
      refill(folder, withFile(last, DIGEST_FILE, older.get(DIGEST_FILE)!));
      expect(await expectShut(folder)).toBe('open');
      expect(filesOf(folder).get(DIGEST_FILE)).toEqual(last.get(DIGEST_FILE));
    }
  });
});

describe('C3.8 a store of the former schema', () => {
  it('is completed once, its log included, and has a rollback journal from then on', async () => {
    const folder = folderWith(former);
    expect([...former.keys()]).toContain(`${STORE}-wal`);
    for (let start = 0; start < 2; start += 1) {
      expect(await expectShut(folder)).toBe('open');
      expect([...filesOf(folder).keys()]).not.toContain(`${STORE}-wal`);
      expect(generationOf(filesOf(folder))).toBe(1);
    }
    refill(folder, new Map([...former, [DIGEST_FILE, last.get(DIGEST_FILE)!]]));
    expect(await open(folder)).toBeInstanceOf(StoreDamaged);
  });

  it('is closed where its setting has a value that is not known', async () => {
    const folder = folderWith(former);
    await runSql(folder, "UPDATE setting SET value = 'tsue' WHERE name = 'auth_enabled'");
    expect(await open(folder)).toBeInstanceOf(StoreDamaged);
    expect((await storeProblems(folder)).map(({ what }) => what)).toEqual([
      'the setting auth_enabled has the unknown value "tsue"',
    ]);
    expect(await repairStore(folder, 'now', { kind: 'sqlite3' })).toMatchObject({
      keptAdmin: true,
      keptTokens: LIVE.length,
    });
    expect(await expectShut(folder)).toBe('open');
  });

  it('is copied without being completed', async () => {
    const [folder, to] = [folderWith(former), folderWith()];
    expect(await copyStoreAtRest(folder, join(to, STORE), 'sqlite3')).toBe(true);
    expect([...filesOf(folder).keys()]).not.toContain(DIGEST_FILE);
    expect(await expectShut(to)).toBe('open');
    expect(filesOf(to).get(STORE)!.includes('a former secret')).toBe(false);
  });
});
