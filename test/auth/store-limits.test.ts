import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storeProblems } from '../../src/auth/store/copy';
import { DIGEST_FILE } from '../../src/auth/store/digest-file';
import { openStore, storePath } from '../../src/auth/store/open';
import type { NewToken, TokenStore } from '../../src/auth/store/port';
import { repairStore } from '../../src/auth/store/repair';

const folders: string[] = [];
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-limits-'));
  folders.push(folder);
  return folder;
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const LIMITS = '{"collections":[{"name":"a","permission":"read"}]}';

const newToken = (limits?: string): NewToken => ({
  name: 'a token',
  description: null,
  digest: randomBytes(32),
  permission: 'read',
  createdAt: 1000,
  expiresAt: null,
  ...(limits !== undefined && { limits }),
});

/** The schema that the digest file names. */
const schemaIn = (folder: string): unknown =>
  JSON.parse(readFileSync(join(folder, DIGEST_FILE), 'utf8').split('\n')[0] ?? '').schema;

const hasNodeSqlite = process.getBuiltinModule('node:sqlite') !== undefined;

describe.each(['sqlite3' as const, ...(hasNodeSqlite ? (['node-sqlite'] as const) : [])])(
  'C15 limits of access tokens in the %s store',
  (kind) => {
    let folder: string;
    let store: TokenStore;
    const reopen = async (): Promise<void> => {
      await store.close();
      expect(await storeProblems(folder, kind)).toEqual([]);
      store = await openStore(folder, kind);
    };
    beforeEach(async () => {
      folder = newFolder();
      store = await openStore(folder, kind);
    });
    afterEach(() => store.close());

    it('C15 a store has the schema of before until the first token with limits, and C3.8 holds through it', async () => {
      const free = await store.createToken(newToken());
      expect(free).not.toHaveProperty('limits');
      expect(schemaIn(folder)).toBe(2);
      await reopen();
      const limited = await store.createToken(newToken(LIMITS));
      expect(schemaIn(folder)).toBe(3);
      await reopen();
      expect(await store.tokens()).toEqual([free, limited]);
      expect(limited.limits).toBe(LIMITS);
      const digest = randomBytes(32);
      expect(await store.replaceDigest(limited.id, digest, 1000)).toEqual(limited);
      await reopen();
      expect(await store.tokenByDigest(digest)).toEqual(limited);
      await store.deleteToken(limited.id);
      await store.storeSetting('auth_enabled', 'true');
      const later = await store.createToken(newToken());
      await reopen();
      expect(await store.tokens()).toEqual([free, later]);
      expect(schemaIn(folder)).toBe(3);
    });

    it('C15 a copy has the limits, and the schema also when no token has any more', async () => {
      const limited = await store.createToken(newToken(LIMITS));
      for (const tokens of [[limited], []]) {
        if (tokens.length === 0) await store.deleteToken(limited.id);
        const copy = newFolder();
        expect(await store.copyTo(storePath(copy))).toBe(true);
        const copied = await openStore(copy, kind);
        expect(await copied.tokens()).toEqual(tokens);
        await copied.close();
        expect(schemaIn(copy)).toBe(3);
      }
    });

    it('C15 a repair keeps tokens with their limits, and none whose limits were changed', async () => {
      const limited = await store.createToken(newToken(LIMITS));
      const other = await store.createToken(newToken(LIMITS.replace('"a"', '"b"')));
      await store.close();
      const before = readFileSync(storePath(folder));
      const damaged = Buffer.from(before);
      // Somebody, or the disk, makes the second token one for another collection.
      damaged[damaged.lastIndexOf('"name":"b"') + 8]! ^= 1;
      writeFileSync(storePath(folder), damaged);
      const problems = await storeProblems(folder, kind);
      expect(problems.length).toBeGreaterThan(0);
      const report = await repairStore(folder, 'now', { kind });
      expect(report).toMatchObject({ sound: false, keptTokens: 1, droppedTokens: [other.id] });
      store = await openStore(folder, kind);
      expect(await store.tokens()).toEqual([limited]);
      expect(schemaIn(folder)).toBe(3);
    });
  },
);
