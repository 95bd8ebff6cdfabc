import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import pino from 'pino';
import { loadConfig, readFlags } from '../../src/config';
import { startServer, type RunningServer } from '../../src/server';
import { isNoPosix, itUnless, whyNoOpenssl } from '../missing';
import { sleep, until } from '../until';
import { FakeEngine } from './fake-engine';

const missing = whyNoOpenssl() ?? isNoPosix;

let folder: string;
let logged: { level: number; msg: string; reason?: string }[];
let server: RunningServer | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-certificate-'));
  logged = [];
});

afterEach(async () => {
  await server?.stop();
  server = undefined;
  rmSync(folder, { recursive: true, force: true });
});

/** Makes a self-signed certificate for a name, in `NAME.crt` and `NAME.key`. */
function makePair(name: string, kind: readonly string[] = EC): void {
  const out = ['-keyout', join(folder, `${name}.key`), '-out', join(folder, `${name}.crt`)];
  const made = ['req', '-x509', '-nodes', '-days', '2', '-subj', `/CN=${name}`, '-newkey', ...kind, ...out];
  execFileSync('openssl', made, { stdio: 'pipe' });
}
const EC = ['ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
const RSA = ['rsa:2048'];

/** Puts one of the pairs where the server looks for it. */
function put(name: string, files: readonly string[] = ['crt', 'key']): void {
  mkdirSync(join(folder, 'tls'), { recursive: true });
  for (const file of files) {
    copyFileSync(join(folder, `${name}.${file}`), join(folder, 'tls', file));
  }
}

function flags(): readonly string[] {
  const files = ['--tls-cert', join(folder, 'tls/crt'), '--tls-key', join(folder, 'tls/key')];
  return ['--port', '0', '--data-dir', join(folder, 'data'), ...files];
}

async function start(certificateLookMs: number): Promise<RunningServer> {
  const config = loadConfig({
    commandLine: readFlags(flags()),
    env: { KITHDB_TOKEN_STORE: 'memory' },
    terminal: false,
  });
  const log = pino({ level: 'info' }, { write: (line: string) => logged.push(JSON.parse(line) as never) });
  server = await startServer(config, {
    openEngine: () => new FakeEngine(),
    log: { log, flush: () => undefined },
    print: () => undefined,
    ownsProcess: false,
    certificateLookMs,
  });
  await server.ready;
  return server;
}

/** A connection, and whose certificate the server showed on it. */
async function connected(port: number): Promise<{ socket: TLSSocket; name: string }> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  return { socket, name: String(socket.getPeerCertificate().subject.CN) };
}

async function shown(port: number): Promise<string> {
  const { socket, name } = await connected(port);
  socket.destroy();
  return name;
}

function errors(): readonly string[] {
  return logged.filter(({ level }) => level >= 50).map(({ msg, reason }) => `${msg}: ${reason ?? ''}`);
}

const NEVER = 3_600_000;
const SOON = 20;

itUnless(missing)('C11.5 reads certificate and key again when their files change', async () => {
  ['first', 'second'].forEach((name) => {
    makePair(name);
  });
  put('first');
  const { port } = await start(SOON);
  expect(await shown(port)).toBe('first');
  const before = await connected(port);

  put('second');
  await until(async () => (await shown(port)) === 'second');

  // A connection from before keeps what it has.
  before.socket.write('GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  const [answer] = (await once(before.socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
  expect(errors()).toEqual([]);
});

itUnless(missing)(
  'C11.5 also when they are replaced by a rename, or a link on the way to them is',
  async () => {
    ['first', 'second', 'third'].forEach((name) => {
      makePair(name);
    });
    // As Kubernetes lays out a secret: the files are links into `..data`, which is replaced as a whole.
    const volume = join(folder, 'tls');
    mkdirSync(volume);
    for (const name of ['first', 'second']) {
      mkdirSync(join(volume, `..${name}`));
      for (const file of ['crt', 'key']) {
        copyFileSync(join(folder, `${name}.${file}`), join(volume, `..${name}`, file));
      }
    }
    symlinkSync('..first', join(volume, '..data'));
    ['crt', 'key'].forEach((file) => {
      symlinkSync(`..data/${file}`, join(volume, file));
    });
    const { port } = await start(SOON);
    expect(await shown(port)).toBe('first');

    symlinkSync('..second', join(volume, '..data_tmp'));
    renameSync(join(volume, '..data_tmp'), join(volume, '..data'));
    await until(async () => (await shown(port)) === 'second');

    for (const file of ['crt', 'key']) {
      renameSync(join(folder, `third.${file}`), join(volume, file));
    }
    await until(async () => (await shown(port)) === 'third');
  },
);

itUnless(missing).each([
  [
    'another key',
    () => {
      put('second', ['key']);
    },
    /key values mismatch|does not belong/,
  ],
  [
    'a key of another kind',
    () => {
      put('rsa', ['key']);
    },
    /does not belong to the certificate/,
  ],
  [
    'no PEM',
    () => {
      writeFileSync(join(folder, 'tls/crt'), 'nonsense');
    },
    /./,
  ],
  [
    'no file',
    () => {
      rmSync(join(folder, 'tls/key'));
    },
    /ENOENT/,
  ],
])('C11.5 keeps the pair that is in use, with an error, when it finds %s', async (_, change, reason) => {
  ['first', 'second'].forEach((name) => {
    makePair(name);
  });
  makePair('rsa', RSA);
  put('first');
  const { port } = await start(SOON);

  change();
  await until(() => errors().length > 0);
  expect(errors()[0]).toMatch(/^certificate and key cannot be used: the ones from before stay in use: /);
  expect(logged.find(({ level }) => level >= 50)?.reason).toMatch(reason);
  await sleep(10 * SOON);
  expect(errors()).toHaveLength(1);
  expect(await shown(port)).toBe('first');

  put('second');
  await until(async () => (await shown(port)) === 'second');
});

itUnless(missing)('C11.5 says when nothing has changed, and when what it finds cannot be used', async () => {
  makePair('first');
  put('first');
  const { port, readCertificateAgain } = await start(NEVER);
  await readCertificateAgain?.();
  expect(logged.at(-1)?.msg).toBe('certificate and key were read again, and are as they were');
  writeFileSync(join(folder, 'tls/key'), 'nonsense');
  await readCertificateAgain?.();
  await readCertificateAgain?.();
  expect(errors()).toHaveLength(2);
  expect(await shown(port)).toBe('first');
});

itUnless(missing)('C11.5 takes one pair after the other when it is told to read them again', async () => {
  makePair('first');
  makePair('second');
  put('first');
  const { port, readCertificateAgain } = await start(NEVER);
  for (const name of ['second', 'first', 'second']) {
    put(name);
    await readCertificateAgain?.();
    expect(await shown(port)).toBe(name);
  }
  expect(errors()).toEqual([]);
});

itUnless(missing)('a start with a certificate and a key of different kinds is refused', async () => {
  makePair('first');
  makePair('rsa', RSA);
  put('first', ['crt']);
  put('rsa', ['key']);
  await expect(start(NEVER)).rejects.toThrow(/^The TLS certificate and key cannot be used: /);
});

/** A server in a process of its own. */
async function spawned(argv: readonly string[]): Promise<{ child: ReturnType<typeof spawn>; port: number }> {
  const child = spawn(process.execPath, [join(__dirname, 'server-process.cjs'), ...argv], {
    env: { PATH: process.env['PATH'], KITHDB_TOKEN_STORE: 'memory' },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const [port] = (await once(child, 'message')) as [number];
  return { child, port };
}

itUnless(missing)('C11.5 reads certificate and key again on SIGHUP', async () => {
  ['first', 'second'].forEach((name) => {
    makePair(name);
  });
  put('first');
  const { child, port } = await spawned(flags());
  expect(await shown(port)).toBe('first');
  put('second');
  child.kill('SIGHUP');
  await until(async () => (await shown(port)) === 'second');
  // Only a signal says that nothing has changed.
  let out = '';
  child.stdout?.on('data', (piece: Buffer) => (out += piece.toString()));
  child.stderr?.on('data', (piece: Buffer) => (out += piece.toString()));
  child.kill('SIGHUP');
  await until(() => out.includes('are as they were'));
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

itUnless(isNoPosix)('C11.5 SIGHUP without TLS and without a terminal changes nothing', async () => {
  const { child, port } = await spawned(['--port', '0', '--data-dir', join(folder, 'data')]);
  child.kill('SIGHUP');
  let out = '';
  child.stdout?.on('data', (piece: Buffer) => (out += piece.toString()));
  child.stderr?.on('data', (piece: Buffer) => (out += piece.toString()));
  await until(() => out.includes('there is no certificate to read again'));
  expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});
