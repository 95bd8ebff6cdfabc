import { join } from 'node:path';
import { StoreDigest } from '../../src/auth/store/digest';
import { DIGEST_FILE } from '../../src/auth/store/digest-file';
import { openStore } from '../../src/auth/store/open';
import { StoreDamaged, type TokenStore } from '../../src/auth/store/port';
import { connectSqlite3 } from '../../src/auth/store/sqlite3';
import { ADMIN, digest, LIVE, REVOKED, STORE, type Files } from './store-history';

/** The generation that the digest file says. */
export function generationOf(files: Files): number {
  return StoreDigest.parse(files.get(DIGEST_FILE)!.toString())!.generation;
}

/** Files, with another one in the place of one of them. */
export function withFile(files: Files, name: string, bytes: Buffer): Files {
  return new Map([...files, [name, bytes]]);
}

/** The store of a folder, or why it is closed. */
export async function open(folder: string): Promise<TokenStore | StoreDamaged> {
  return openStore(folder, 'sqlite3').catch((error: unknown) => {
    if (error instanceof StoreDamaged) return error;
    throw error;
  });
}

/** That a folder opens to nobody: it is closed, or everything in it is as it was written last. */
export async function expectShut(folder: string): Promise<'closed' | 'open'> {
  const store = await open(folder);
  if (store instanceof StoreDamaged) {
    return 'closed';
  }
  try {
    expect(await store.setting('auth_enabled')).toBe('true');
    expect(await store.admin()).toEqual(ADMIN);
    for (const name of REVOKED) expect(await store.tokenByDigest(digest(name))).toBeUndefined();
    for (const name of LIVE) {
      expect(await store.tokenByDigest(digest(name))).toMatchObject({ permission: 'read,write' });
    }
    return 'open';
  } catch (error) {
    // Damage of what only a query reads closes the store when it is read.
    if (!(error instanceof StoreDamaged)) throw error;
    expect(store.fault).toBe(error);
    return 'closed';
  } finally {
    await store.close();
  }
}

/** Changes a store behind its back. */
export async function runSql(folder: string, sql: string): Promise<void> {
  const connection = await connectSqlite3(join(folder, STORE));
  await connection.script(sql);
  await connection.close();
}
