import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { judgeSyncs } from '../../src/doctor/disk';
import { bytesText, type Finding } from '../../src/doctor/finding';
import {
  checkHugePages,
  checkLimits,
  checkMemory,
  checkProcessors,
  judgeKernels,
} from '../../src/doctor/machine';
import { checkCertificate } from '../../src/doctor/service';
import { ContractServer } from '../contract/contract-server';
import { kithdb, type Outcome } from './console';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-doctor-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const doctor = (...flags: string[]): Promise<Outcome> =>
  kithdb(['doctor', '--data-dir', join(folder, 'data'), ...flags]);

async function findings(
  ...flags: string[]
): Promise<{ code: number | undefined; of: (check: string) => Finding }> {
  const { code, out } = await doctor('--json', ...flags);
  const all = JSON.parse(out) as readonly Finding[];
  return {
    code,
    of: (check) => {
      const found = all.find((finding) => finding.check === check);
      if (found === undefined) throw new Error(`no finding ${check} in ${out}`);
      return found;
    },
  };
}

describe('C11.4 kithdb doctor', () => {
  it('goes through this machine, and leaves nothing behind', async () => {
    const { code, of } = await findings('--port', '0');
    expect([0, 3]).toContain(code);
    expect(of('engine')).toMatchObject({
      what: expect.stringMatching(/distances are computed with \w+, codes with \w+/) as string,
    });
    expect(of('data-directory')).toEqual({
      check: 'data-directory',
      state: 'ok',
      what: `${join(folder, 'data')} does not exist yet, and a first start can make it`,
    });
    for (const check of [
      'node',
      'processors',
      'memory',
      'huge-pages',
      'file-system',
      'room',
      'sync',
      'token-store',
      'port',
    ]) {
      expect(['ok', 'advice', 'unknown']).toContain(of(check).state);
    }
    expect(of('sync').what).toMatch(/^a sync of 4 KiB takes \d+\.\d\d ms \(the slowest of \d+ took /);
    expect(readdirSync(folder)).toEqual([]);
    const text = (await doctor('--port', '0')).out;
    expect(text).toMatch(/^ok {6}node {12}Node\.js /m);
  });

  it('finds that the port is taken: exit code 1', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const { code, of } = await findings('--port', String(port));
    taken.close();
    expect([code, of('port')]).toEqual([
      1,
      { check: 'port', state: 'problem', what: expect.stringMatching(/already in use/) as string },
    ]);
  });

  it('tells the server of this data directory from another program', async () => {
    const server = await ContractServer.start();
    const { out } = await kithdb([
      'doctor',
      '--json',
      '--data-dir',
      server.dataDir,
      '--port',
      String(server.port),
    ]);
    await server.stop();
    const port = (JSON.parse(out) as readonly Finding[]).find(({ check }) => check === 'port');
    expect(port).toMatchObject({
      state: 'ok',
      what: 'a server runs on this data directory, and says: ready',
    });
  });

  it('finds that the key is another one, or has a passphrase: exit code 1', async () => {
    const cert = join(__dirname, '..', 'fixtures', 'localhost-cert.pem');
    const own = createPrivateKey(readFileSync(cert.replace('-cert', '-key')));
    const { privateKey: other } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { privateKey: otherKind } = generateKeyPairSync('ed25519');
    const plain = { type: 'pkcs8', format: 'pem' } as const;
    const keys = {
      own: own.export(plain),
      other: other.export(plain),
      otherKind: otherKind.export(plain),
      locked: own.export({ ...plain, cipher: 'aes-256-cbc', passphrase: 'hidden' }),
    };
    const states = new Map<string, unknown>();
    for (const [name, text] of Object.entries(keys)) {
      const key = join(folder, name);
      writeFileSync(key, text);
      const { code, of } = await findings('--port', '0', '--tls-cert', cert, '--tls-key', key);
      const { state, what } = of('certificate');
      states.set(name, state);
      expect(code === 1).toBe(name !== 'own');
      if (name !== 'own') expect(what).toContain(`${cert} and ${key} cannot be used: `);
    }
    expect(Object.fromEntries(states)).toEqual({
      ...{ own: expect.stringMatching(/ok|advice/) as string },
      ...{ other: 'problem', otherKind: 'problem', locked: 'problem' },
    });
  });

  it('finds that a first start would be refused for what the settings say of authentication: exit code 1', async () => {
    const state = async (env: Record<string, string>, ...flags: string[]): Promise<unknown> => {
      const argv = ['doctor', '--json', '--port', '0', '--data-dir', join(folder, 'data'), ...flags];
      const { code, out } = await kithdb(argv, { env });
      const found = (JSON.parse(out) as readonly Finding[]).find(({ check }) => check === 'authentication');
      expect(code === 1).toBe(found?.state === 'problem');
      return found?.state;
    };
    const all = ['--host', '0.0.0.0'];
    const password = { KITHDB_ADMIN_PASSWORD: 'Correct-horse-7-staple' };
    expect(await state({})).toBe('ok');
    expect(await state({}, ...all)).toBe('problem');
    expect(await state({}, ...all, '--insecure-no-auth')).toBe('advice');
    expect(await state({ KITHDB_ACCESS_TOKEN: 'a token of 24 characters' }, ...all)).toBe('ok');
    expect(await state(password, ...all)).toBe('problem');
    expect(await state(password, ...all, '--auth-enabled')).toBe('ok');
    expect(await state({}, '--auth-enabled')).toBe('problem');
    expect(await state({ KITHDB_ADMIN_PASSWORD: 'weak' })).toBe('problem');
    // What a store says of authentication counts from then on.
    mkdirSync(join(folder, 'data'), { mode: 0o700 });
    writeFileSync(join(folder, 'data', 'auth.sqlite3'), '');
    expect(await state({}, ...all)).toBe('unknown');
    expect(await state({})).toBeUndefined();
    expect(await state({}, ...all, '--token-store', 'memory')).toBe('problem');
  });

  it('finds a directory that cannot be one, and one that is open to others', async () => {
    writeFileSync(join(folder, 'data'), '');
    expect((await findings('--port', '0')).of('data-directory')).toMatchObject({ state: 'problem' });
    rmSync(join(folder, 'data'));
    mkdirSync(join(folder, 'data'), { mode: 0o755 });
    expect((await findings('--port', '0')).of('data-directory')).toMatchObject({
      state: 'advice',
      what: expect.stringMatching(/is open to other users of this machine \(mode 755\)/) as string,
    });
    writeFileSync(join(folder, 'data', 'RESTORING'), '');
    expect(await findings('--port', '0')).toMatchObject({ code: 1 });
  });
});

describe('what is advised', () => {
  const LIMITS = [
    'Limit                     Soft Limit           Hard Limit           Units     ',
    'Max open files            1024                 1048576              files     ',
    'Max address space         8589934592           unlimited            bytes     ',
  ].join('\n');
  const states = (found: readonly Finding[]): unknown =>
    Object.fromEntries(found.map(({ check, state }) => [check, state]));

  it('about the limits of a process', () => {
    const files: Record<string, string> = {
      '/proc/self/limits': LIMITS,
      '/proc/sys/vm/max_map_count': '4096\n',
      '/proc/sys/vm/overcommit_memory': '2\n',
    };
    const found = checkLimits({ maxConnections: 2048 }, (path) => files[path]);
    expect(states(found)).toEqual({
      'open-files': 'advice',
      'address-space': 'advice',
      maps: 'advice',
      overcommit: 'advice',
    });
    expect(found[0]?.what).toBe('1024 files may be open, and 2048 connections and the data need 3072');
    files['/proc/self/limits'] = LIMITS.replace('1024 ', 'unlimited ').replace('8589934592', 'unlimited ');
    files['/proc/sys/vm/max_map_count'] = '65530\n';
    files['/proc/sys/vm/overcommit_memory'] = '0\n';
    expect(
      new Set(checkLimits({ maxConnections: 2048 }, (path) => files[path]).map(({ state }) => state)),
    ).toEqual(new Set(['ok']));
    expect(states(checkLimits({ maxConnections: 2048 }, () => undefined))).toEqual({ limits: 'unknown' });
  });

  it('about processor, huge pages, memory and threads', () => {
    expect(judgeKernels({ rows: 'scalar', codes: 'scalar' }).state).toBe('advice');
    expect(judgeKernels({ rows: 'avx2', codes: 'avx2' }).state).toBe('ok');
    expect(checkHugePages('never')).toMatchObject({ state: 'advice' });
    expect(checkHugePages('unknown').state).toBe('unknown');
    const GIB = 1024 ** 3;
    expect(checkMemory({ memoryLimit: undefined }, 0, 8 * GIB)).toMatchObject({
      state: 'ok',
      what: '8.0 GiB of the machine',
    });
    expect(checkMemory({ memoryLimit: undefined }, GIB / 4, 8 * GIB)).toMatchObject({
      state: 'advice',
      what: '256.0 MiB of the control group',
    });
    expect(checkMemory({ memoryLimit: 2 * GIB }, GIB, 8 * GIB)).toMatchObject({ state: 'problem' });
    expect(checkProcessors({ searchThreads: 8 }, 4).state).toBe('advice');
    expect(checkProcessors({ searchThreads: 4 }, 4).state).toBe('ok');
    expect(bytesText(12)).toBe('12 bytes');
  });

  it('about the syncs of a disk', () => {
    const taking = (ms: number): Finding => judgeSyncs(Array.from({ length: 64 }, () => ms));
    expect([taking(0.001).state, taking(0.5).state, taking(20).state]).toEqual(['advice', 'ok', 'advice']);
    expect(taking(0.001).advice).toMatch(/no disk is that fast/);
  });

  it('about a certificate that ends', () => {
    const certFile = join(__dirname, '..', 'fixtures', 'localhost-cert.pem');
    const keyFile = certFile.replace('-cert', '-key');
    const cert = readFileSync(certFile, 'utf8');
    const tls = { cert, key: readFileSync(keyFile, 'utf8'), certFile, keyFile };
    const [found] = checkCertificate({ tls }, 0);
    expect(found).toMatchObject({ state: 'ok' });
    const until = Date.parse(/until (\S+)/.exec(found?.what ?? '')?.[1] ?? '');
    expect(checkCertificate({ tls }, until - 5 * 86_400_000)[0]?.state).toBe('advice');
    expect(checkCertificate({ tls }, until + 5 * 86_400_000)[0]?.state).toBe('problem');
    expect(checkCertificate({ tls: { ...tls, cert: 'x' } })[0]?.state).toBe('problem');
    expect(checkCertificate({})).toEqual([]);
  });
});
