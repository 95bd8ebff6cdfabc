import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { givingPosition } from '../../src/auth/store/change';
import { storeProblems } from '../../src/auth/store/copy';
import { DIGEST_FILE } from '../../src/auth/store/digest-file';
import { openStore, openStoreAtRest } from '../../src/auth/store/open';
import { repairStore } from '../../src/auth/store/repair';
import { generationOf, withFile } from './store-checks';
import {
  ADMIN,
  contentOf,
  digest,
  filesOf,
  folderWith,
  history,
  LIVE,
  removeFolders,
  REVOKED,
  STORE,
  type Files,
} from './store-history';

let states: readonly Files[];
let last: Files;
beforeAll(async () => {
  states = await history();
  last = states.at(-1)!;
});
afterAll(removeFolders);

describe('C3.8 repairing a store', () => {
  async function repaired(files: Files) {
    const folder = folderWith(files);
    const report = await repairStore(folder, 'now', { kind: 'sqlite3' });
    expect(await storeProblems(folder)).toEqual([]);
    const store = await openStore(folder, 'sqlite3');
    const content = (await contentOf(store)) as { enabled: string; works: string[]; admin: unknown };
    expect(content.enabled).toBe('true');
    for (const name of REVOKED) expect(content.works).not.toContain(name);
    expect(await store.setting('jwt_secret')).toBeUndefined();
    await store.close();
    return { folder, report, ...content };
  }

  it('changes nothing of a sound one', async () => {
    const folder = folderWith(last);
    expect(await repairStore(folder, 'now', { kind: 'sqlite3' })).toMatchObject({
      sound: true,
      problems: [],
    });
    expect(filesOf(folder)).toEqual(last);
  });

  it('keeps all rows but the damaged one', async () => {
    const bytes = Buffer.from(last.get(STORE)!);
    bytes[bytes.lastIndexOf('kept')]! ^= 1;
    const { report, works, admin, folder } = await repaired(withFile(last, STORE, bytes));
    expect(report).toMatchObject({
      sound: false,
      keptAdmin: true,
      keptTokens: LIVE.length - 1,
      droppedTokens: [1],
    });
    expect(works).toEqual(LIVE.filter((name) => name !== 'kept'));
    expect(admin).toEqual(ADMIN);
    expect(readFileSync(join(folder, 'salvage', 'now', STORE))).toEqual(bytes);
  });

  it('keeps of an older copy what is still in force, and revives no token and no password', async () => {
    for (const older of states) {
      if (generationOf(older) === generationOf(last)) continue;
      const { works, admin } = await repaired(withFile(last, STORE, older.get(STORE)!));
      expect([ADMIN, undefined]).toContainEqual(admin);
      expect(LIVE).toEqual(expect.arrayContaining(works));
    }
    // The one before the last five tokens were made.
    const { works, admin } = await repaired(withFile(last, STORE, states.at(-5)!.get(STORE)!));
    expect(works).toEqual(['kept', 'rotated, after']);
    expect(admin).toEqual(ADMIN);
  });

  it('makes a store without anything where nothing can be read', async () => {
    const without = new Map([...last].filter(([name]) => name !== STORE));
    for (const files of [
      without,
      withFile(last, STORE, Buffer.alloc(0)),
      withFile(last, STORE, Buffer.alloc(8192, 'no database')),
    ]) {
      const { report, works, admin, folder } = await repaired(files);
      expect(report).toMatchObject({ keptAdmin: false, keptTokens: 0 });
      expect([works, admin]).toEqual([[], undefined]);
      const store = await openStore(folder, 'sqlite3');
      // The id of a token that was lost names no other one.
      const token = { name: 'n', description: null, permission: 'read', createdAt: 1, expiresAt: null };
      expect((await store.createToken({ ...token, digest: digest('new') })).id).toBeGreaterThan(8);
      await store.close();
    }
  });

  it('keeps everything where only the digest file is lost', async () => {
    const { works, admin } = await repaired(new Map([...last].filter(([name]) => name !== DIGEST_FILE)));
    expect([works, admin]).toEqual([LIVE, ADMIN]);
  });

  it('can be done again after a kill before the new store has its name', async () => {
    const bytes = Buffer.from(last.get(STORE)!);
    bytes[bytes.lastIndexOf('kept')]! ^= 1;
    const damaged = withFile(last, STORE, bytes);
    const { folder } = await repaired(damaged);
    const digestFile = filesOf(folder).get(DIGEST_FILE)!;
    const { works, admin } = await repaired(withFile(damaged, DIGEST_FILE, digestFile));
    expect([works, admin]).toEqual([LIVE.filter((name) => name !== 'kept'), ADMIN]);
  });

  it('notes at a node that is to give its cluster what it has when the log was created that was lost', async () => {
    const folder = folderWith();
    const store = await openStore(folder, 'sqlite3', { isOfCluster: true });
    const created = '2026-01-01T00:00:00Z';
    await store.apply({ kind: 'nothing' }, { stream: 'auth', created, sequence: 5, operation: 'o' });
    await store.close();
    await repairStore(folder, 'now', { kind: 'sqlite3', isOfCluster: true, takesOlder: true });
    const giving = await openStoreAtRest(folder, 'sqlite3');
    expect(await giving.logPosition()).toEqual(givingPosition(created));
    await giving.close();
  });
});
