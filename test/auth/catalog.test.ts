import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { CatalogAtRest, ServedCatalog, type Catalog } from '../../src/auth/store/catalog';
import { DIGEST_FILE } from '../../src/auth/store/digest-file';
import { openStore } from '../../src/auth/store/open';
import type { TokenStore } from '../../src/auth/store/port';
import { openFolder } from '../../src/embedded/open';
import { lockDataDir } from '../../src/engine/offline';
import { EngineError } from '../../src/engine/types';
import { diskCallsLibrary, readCalls, recorded } from '../disk/calls';
import { itUnless } from '../missing';
import { kithdbHere } from '../operations/command';
import { call, enabled, expectClosed, guarded, login, PASSWORD, stopped } from '../operations/guarded';
import { whyNoLibrary } from '../preloaded';
import { until } from '../until';
import { generationOf } from './store-checks';
import {
  contentOf,
  filesOf,
  folderWith,
  formerFiles,
  history,
  KILL_STEP,
  refill,
  removeFolders,
  STORE,
  type Files,
} from './store-history';

const TIMEOUT_MS = 3_600_000;

let folder: string;
let dataDir: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-catalog-'));
  dataDir = join(folder, 'data');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});
afterAll(removeFolders);

/** What a server on the data directory answers to these credentials, asked for its collections. */
async function statuses(
  tokens: readonly (string | undefined)[],
  launch: { env?: NodeJS.ProcessEnv } = {},
): Promise<number[]> {
  const server = await guarded(dataDir, launch);
  const found = [];
  for (const token of tokens) {
    found.push((await call(server.url, 'GET', '/collections', undefined, token)).status);
  }
  await stopped(server);
  return found;
}

/** A program opens the folder and closes it. On a busy machine a thread may have the folder for a moment longer. */
async function openedOnce(): Promise<void> {
  await (await openFolder(dataDir)).close();
  await until(() => {
    try {
      lockDataDir(dataDir).release();
      return true;
    } catch {
      return false;
    }
  });
}

/** A setting that changes the store at a start. */
const TOKEN: NodeJS.ProcessEnv = { KITHDB_ACCESS_TOKEN: 'an access token of the settings' };

/** That a server is closed, and leaves the files of the store as they are, also where settings would change them. */
async function expectClosedServer(
  tokens: readonly string[],
  settings: readonly NodeJS.ProcessEnv[] = [TOKEN],
): Promise<void> {
  const before = filesOf(dataDir);
  for (const env of settings) {
    const server = await guarded(dataDir, { env });
    await expectClosed(server.url, tokens);
    await stopped(server);
    expect(filesOf(dataDir)).toEqual(before);
  }
}

const offline = (...argv: readonly string[]) => kithdbHere(...argv, '--data-dir', dataDir);

describe('C3.8 the generation of the store in the catalog of the engine', () => {
  it('closes a server whose store and digest file were both removed beside data', async () => {
    const { jwt, live, revoked } = await enabled(dataDir);
    expect(await new CatalogAtRest(dataDir).generation()).toBe(generationOf(filesOf(dataDir)));
    refill(dataDir, new Map());
    const admin = { KITHDB_ADMIN_PASSWORD: PASSWORD, KITHDB_AUTH_ENABLED: 'true' };
    await expectClosedServer([jwt, live, revoked], [TOKEN, admin, {}]);
    const what = /it is missing or empty, and the catalog of the engine has generation \d+ of it/;
    expect(await offline('check')).toMatchObject({ code: 1, out: expect.stringMatching(what) });
    expect(await offline('backup', '--to', join(folder, 'backup'))).toMatchObject({
      code: 3,
      err: expect.stringMatching(what),
    });
    expect(await offline('admin', 'repair')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/kept: no admin, 0 access tokens\nAuthentication is enabled/),
    });
    expect(await offline('check')).toMatchObject({ code: 0 });
    expect(await statuses([undefined, live, revoked, jwt])).toEqual([401, 401, 401, 401]);
    expect(await new CatalogAtRest(dataDir).generation()).toBe(generationOf(filesOf(dataDir)));
  });

  it('closes a server with older copies of both, and nothing of them is in force after a repair', async () => {
    const { jwt, live } = await enabled(dataDir);
    const older = filesOf(dataDir);
    const server = await guarded(dataDir);
    const again = await login(server.url);
    const [{ id }] = (await call(server.url, 'GET', '/auth/access_tokens', undefined, again)).body;
    expect((await call(server.url, 'DELETE', `/auth/access_token/${id}`, undefined, again)).status).toBe(200);
    await stopped(server);
    const last = filesOf(dataDir);

    refill(dataDir, older);
    await expectClosedServer([jwt, live]);
    const what = /it is older \(generation \d+\) than the catalog of the engine \(generation \d+\)/;
    expect(await offline('check')).toMatchObject({ code: 1, out: expect.stringMatching(what) });
    expect(await offline('admin', 'rotate-secret')).toMatchObject({
      code: 1,
      err: expect.stringMatching(what),
    });
    expect(filesOf(dataDir)).toEqual(older);
    refill(dataDir, last);
    expect(await statuses([undefined, live])).toEqual([401, 401]);

    refill(dataDir, older);
    expect(await offline('admin', 'repair')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/kept: no admin, 0 access tokens\ndropped: access tokens with the ids 1\n/),
    });
    expect(await statuses([undefined, live])).toEqual([401, 401]);

    refill(dataDir, older);
    expect(await offline('admin', 'repair', '--older-store')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/kept: the admin, 1 access token\nAuthentication is enabled/),
    });
    expect(await statuses([undefined, live])).toEqual([401, 200]);
  });

  it('is brought up to a store that was changed while no server ran', async () => {
    const { live } = await enabled(dataDir);
    const older = filesOf(dataDir);
    const noted = await new CatalogAtRest(dataDir).generation();
    const store = await openStore(dataDir, 'sqlite3');
    await store.deleteToken(1);
    await store.close();
    expect(await new CatalogAtRest(dataDir).generation()).toBe(noted);
    expect(await offline('check')).toMatchObject({ code: 0 });
    expect(await statuses([undefined, live])).toEqual([401, 401]);
    refill(dataDir, older);
    await expectClosedServer([live]);
  });

  it('is in a backup no later than the store, and a restore without authentication begins anew', async () => {
    const { live } = await enabled(dataDir);
    const backup = join(folder, 'backup');
    const server = await guarded(dataDir);
    const jwt = await login(server.url);
    expect((await offline('backup', '--to', backup)).code).toBe(0);
    expect((await call(server.url, 'DELETE', '/auth/access_token/1', undefined, jwt)).status).toBe(200);
    await stopped(server);

    dataDir = join(folder, 'restored');
    expect((await offline('restore', '--from', backup)).code).toBe(0);
    expect(await statuses([undefined, live])).toEqual([401, 200]);

    dataDir = join(folder, 'without');
    expect((await offline('restore', '--from', backup, '--without-auth')).code).toBe(0);
    expect(await offline('check')).toMatchObject({ code: 0 });
    expect(await statuses([undefined])).toEqual([200]);
    expect(await statuses([undefined])).toEqual([200]);
    refill(dataDir, new Map());
    await expectClosedServer([live]);
  });

  it('does not keep a folder from a first start that a program filled, or a server without a store', async () => {
    await openedOnce();
    expect(await offline('check')).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^note: auth\.sqlite3: .*only programs have opened this folder.*as at a first start/,
      ),
    });
    const first = await guarded(dataDir, { env: { KITHDB_TOKEN_STORE: 'memory' } });
    await stopped(first);
    expect(await new CatalogAtRest(dataDir).generation()).toBe(0);
    const server = await guarded(dataDir);
    expect((await call(server.url, 'GET', '/collections')).status).toBe(200);
    await stopped(server);
    expect(server.output).toMatch(/There is data in .* as at a first start/);
    expect(await new CatalogAtRest(dataDir).generation()).toBe(1);
    expect(await statuses([undefined])).toEqual([200]);
  });

  it('completes a store of the former schema once', async () => {
    await openedOnce();
    const former = await formerFiles();
    refill(dataDir, former);
    expect(await statuses([undefined])).toEqual([401]);
    expect(await new CatalogAtRest(dataDir).generation()).toBe(1);
    expect(await statuses([undefined])).toEqual([401]);
    refill(dataDir, former);
    const server = await guarded(dataDir);
    await expectClosed(server.url, []);
    await stopped(server);
    expect(await offline('check')).toMatchObject({
      code: 1,
      out: expect.stringMatching(
        /it is older \(an earlier release wrote it\) than the catalog of the engine/,
      ),
    });
    expect(await offline('backup', '--to', join(folder, 'backup'))).toMatchObject({ code: 3 });
    expect(await offline('admin', 'repair')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/kept: no admin, 0 access tokens/),
    });
    expect(await statuses([undefined])).toEqual([401]);
  });
});

describe('C3.8 a change of the store and the catalog of the engine', () => {
  let states: readonly Files[];
  let last: Files;
  beforeAll(async () => {
    states = await history();
    last = states.at(-1)!;
  });

  /** A catalog that has a generation. */
  const having = (generation: number): Catalog & { readonly noted: number[] } => {
    const noted: number[] = [];
    return {
      noted,
      generation: () => Promise.resolve(Math.max(generation, ...noted)),
      note: (next) => {
        noted.push(next);
        return Promise.resolve();
      },
    };
  };

  it('is refused, and so is a copy, where the store is older', async () => {
    const works: readonly ((store: TokenStore) => Promise<unknown>)[] = [
      (store) => store.deleteToken(1),
      (store) => store.storeSetting('jwt_secret', 'another'),
      (store) => store.copyTo(join(folder, STORE)),
      (store) => store.compare(),
    ];
    for (const work of works) {
      const at = folderWith(last);
      const catalog = having(generationOf(last) + 1);
      const store = await openStore(at, 'sqlite3', { catalog });
      await expect(work(store)).rejects.toThrow(/it is older .* than the catalog of the engine/);
      await expect(store.tokens()).rejects.toBe(store.fault);
      await store.close();
      expect([filesOf(at), catalog.noted, existsSync(join(folder, STORE))]).toEqual([last, [], false]);
    }
  });

  it('is noted when it is durable, and a comparison notes what was changed before', async () => {
    const catalog = having(generationOf(last));
    const store = await openStore(folderWith(last), 'sqlite3', { catalog });
    await store.deleteToken(1);
    await store.compare();
    await store.storeSetting('auth_enabled', 'false');
    const [first, second] = [generationOf(last) + 1, generationOf(last) + 2];
    expect(catalog.noted).toEqual([first, first, second]);
    await store.close();
  });

  it('succeeds where the catalog cannot be written, with a warning unless the server stops', async () => {
    for (const [code, warnings] of [
      ['storage_full', 1],
      ['shutting_down', 0],
    ] as const) {
      const logged: string[] = [];
      const catalog = new ServedCatalog(
        folder,
        pino({ level: 'warn' }, { write: (line: string) => logged.push(line) }),
      );
      const store = await openStore(folderWith(last), 'sqlite3', { catalog });
      catalog.useEngine({
        authGeneration: () => 0,
        noteAuthGeneration: () => Promise.reject(new EngineError(code)),
      });
      expect(await store.deleteToken(1)).toBe(true);
      expect(store.fault).toBeUndefined();
      expect(logged).toHaveLength(warnings);
      await store.close();
    }
  });

  const calls = mkdtempSync(join(tmpdir(), 'kithdb-calls-'));
  afterAll(() => {
    rmSync(calls, { recursive: true });
  });
  const library = diskCallsLibrary(calls);

  /** Makes a change beside an engine in a process of its own, killed before a call of the disk. */
  async function changeIn(at: string, change: string, killAt?: number) {
    const log = join(calls, 'log');
    writeFileSync(log, '');
    const child = spawn(process.execPath, [join(__dirname, 'catalog-child.cjs'), at, change], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...recorded({ library: library!, folder: at, log, killAt }) },
    });
    let out = '';
    child.stdout.on('data', (piece: Buffer) => (out += piece.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, out, calls: readCalls(log).map(({ name, path }) => `${name} ${path}`) };
  }

  itUnless(whyNoLibrary(library))(
    'leaves a store that fits, wherever it is killed, and comes after the digest file',
    async () => {
      const change = 'a deletion';
      const before = folderWith(states[9]);
      expect(await changeIn(before, 'enabling')).toMatchObject({ code: 0, out: 'ready\nchanged\n' });
      const copy = (): string => {
        const at = folderWith();
        cpSync(before, at, { recursive: true });
        return at;
      };
      const made = (await changeIn(copy(), change)).calls;
      const order = ['rename auth.digest', 'rename collections/CATALOG', 'rename catalog/CATALOG'];
      const places = order.map((name) => made.lastIndexOf(name));
      expect(places).toEqual([...places].sort((a, b) => a - b));
      const seen = new Set<string>();
      for (let killAt = made.indexOf(`write ${DIGEST_FILE}.tmp`); ; killAt += KILL_STEP) {
        const at = copy();
        const { code, out } = await changeIn(at, change, killAt);
        const noted = await new CatalogAtRest(at).generation();
        const store = await openStore(at, 'sqlite3');
        await store.compare();
        const content = JSON.stringify(await contentOf(store));
        await store.close();
        seen.add(content);
        const found = generationOf(filesOf(at));
        expect([0, 1]).toContain(found - noted);
        if (out.includes('changed')) expect(noted).toBe(found);
        if (code === 0) break;
      }
      expect(seen.size).toBe(2);
    },
    TIMEOUT_MS,
  );
});
