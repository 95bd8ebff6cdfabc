import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import pino from 'pino';
import {
  AuthStartError,
  ExposureError,
  openAuth,
  StoreDamaged,
  StoreInUse,
  StoreOfCluster,
  StoreUnavailable,
} from '../../src/auth';
import { SqlStore } from '../../src/auth/store/sql-store';
import { CommandError } from '../../src/cli/console';
import { EXPLAINED, run } from '../../src/cli/run';
import { VERBS } from '../../src/cli/verbs';
import { ConfigError, isPathFlag, settingsReference } from '../../src/config';
import { StartError } from '../../src/http/listen';
import { BackupError } from '../../src/operations/failure';
import { startServer } from '../../src/server';
import { AUTH_CONFIG, PASSWORD, processAuth } from '../auth/auth-server';
import { inScript } from '../docs/script';
import { itUnless, type Missing } from '../missing';

jest.mock('../../src/server', () => ({ startServer: jest.fn(() => Promise.resolve()) }));
const started = startServer as jest.MockedFunction<typeof startServer>;

const NEW_PASSWORD = 'Brand-new-horse-9';
const SILENT = pino({ level: 'silent' });

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'kithdb-cli-'));
  started.mockClear();
});
afterEach(() => {
  rmSync(dataDir, { recursive: true });
});

function whyNoFish(): Missing {
  return spawnSync('fish', ['--version']).error === undefined ? undefined : 'there is no fish';
}

function whyNoZsh(): Missing {
  return spawnSync('zsh', ['--version']).error === undefined ? undefined : 'there is no zsh';
}

interface Outcome {
  readonly code: number | undefined;
  readonly out: string;
  readonly err: string;
}

async function kithdb(
  argv: readonly string[],
  given: { env?: Record<string, string>; stdin?: Readable & { isTTY?: boolean } } = {},
): Promise<Outcome> {
  const streams = { stdout: new PassThrough(), stderr: new PassThrough() };
  const code = await run(argv, { env: given.env ?? {}, stdin: given.stdin ?? Readable.from([]), ...streams });
  const text = (stream: PassThrough): string => (stream.read() as Buffer | null)?.toString() ?? '';
  return { code, out: text(streams.stdout), err: text(streams.stderr) };
}

describe('C11.2 the command line', () => {
  it('serves without a verb, with flags before or after it', async () => {
    for (const argv of [
      ['--port', '7001'],
      ['serve', '--port', '7001'],
      ['--port', '7001', 'serve'],
    ]) {
      expect(await kithdb(argv)).toEqual({ code: undefined, out: '', err: '' });
      expect(started).toHaveBeenLastCalledWith(expect.objectContaining({ port: 7001 }));
    }
  });

  it('prints help for all verbs and for each, with every setting and its default', async () => {
    for (const argv of [['help'], ['--help'], ['-h']]) {
      const { code, out } = await kithdb(argv);
      expect(code).toBe(0);
      for (const { name } of VERBS) {
        expect(out).toContain(`kithdb ${name}`);
      }
    }
    const { out } = await kithdb(['serve', '--help']);
    expect(out).toMatch(/--port N, KITHDB_PORT\n.*Default: 6363/);
    expect(out).toMatch(/KITHDB_JWT_SECRET\[_FILE\], SERVICE_JWT_SECRET\[_FILE\]/);
    expect(out).toMatch(/Exit codes/);
    for (const verb of ['check', 'backup', 'restore', 'repair']) {
      expect((await kithdb([verb, '--help'])).out).toMatch(/--config FILE, [^]*--data-dir FOLDER, /);
    }
    expect((await kithdb(['admin', 'reset-password', '--help'])).out).toMatch(/^kithdb admin reset-password/);
    expect(await kithdb(['help', 'restore'])).toEqual(await kithdb(['restore', '--help']));
    expect(started).not.toHaveBeenCalled();
  });

  it.each([
    [
      'kithdb ',
      'serve init doctor admin cluster token check backup restore repair import export migrate collections reembed query mcp bench health help completion version',
    ],
    ['kithdb re', 'restore repair reembed'],
    ['kithdb admin ', 'create reset-password rotate-secret repair'],
    ['kithdb help c', 'configuration commands'],
    ['kithdb token ', 'list create rotate delete generate'],
    ['kithdb completion ', 'bash zsh fish'],
    ['kithdb import package.js', 'package.json'],
    ['kithdb query notes --v', '--vector --version'],
    ['kithdb --da', '--data-dir'],
    ['kithdb serve --insecure', '--insecure-no-auth'],
    ['kithdb serve --admin-password', '--admin-password-file'],
    ['kithdb check --', '--json --collection --config --data-dir --token-store --help --version'],
    ['kithdb admin reset-password --ad', '--admin-password-file'],
    ['kithdb completion --', '--help --version'],
    ['kithdb check --data-dir package.js', 'package.json'],
    ['kithdb serve --port ', ''],
  ])('completes %j in a shell', async (line, expected) => {
    const { out } = await kithdb(['completion']);
    const words = line.split(' ').map((word) => `'${word}'`);
    const asked = `COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _kithdb; echo "\${COMPREPLY[*]}"`;
    const { stdout, stderr } = spawnSync('bash', ['-c', `${out}\n${asked}`], { encoding: 'utf8' });
    expect([stdout, stderr]).toEqual([`${expected}\n`, '']);
  });

  it('takes the word behind a verb for a flag of it, and flags of one name as this verb has them', async () => {
    const dir = ['--data-dir', join(dataDir, 'none')];
    for (const argv of [
      ['query', 'notes', ...dir],
      [...dir, 'query', 'notes'],
      ['query', '--collection', 'notes', ...dir],
    ]) {
      expect(await kithdb(argv)).toMatchObject({ code: 1, err: expect.stringMatching(/no data directory/) });
    }
    expect((await kithdb(['query'])).err).toMatch(/--collection NAME is required/);
    expect((await kithdb(['export', '--to'])).err).toBe('kithdb: --to needs a value: --to FILE\n');
    expect((await kithdb(['token', 'rotate', '--id'])).err).toBe('kithdb: --id needs a value: --id ID\n');
    const kinds = new Map<string, boolean>();
    for (const { name, placeholder } of VERBS.flatMap(({ flags = [] }) => flags)) {
      const isSwitch = placeholder === undefined;
      expect([name, kinds.get(name) ?? isSwitch]).toEqual([name, isSwitch]);
      kinds.set(name, isSwitch);
    }
    for (const { argument, flags = [] } of VERBS) {
      expect(argument === undefined || flags.some(({ name }) => name === argument)).toBe(true);
    }
  });

  it.each(['token', 'admin', 'migrate'])(
    'kithdb %s shows the verbs that begin so, and no others',
    async (name) => {
      const asked = await kithdb([name, '--help']);
      expect(asked).toMatchObject({ code: 0, err: '' });
      const shown = [...asked.out.matchAll(/^ {2}kithdb ([a-z-]+(?: [a-z-]+)*)/gm)].map(([, verb]) => verb);
      const begun = VERBS.map((verb) => verb.name).filter((verb) => verb.startsWith(`${name} `));
      expect(shown).toEqual(begun);
      expect(await kithdb(['help', name])).toEqual(asked);
      const given = await kithdb([name]);
      expect([given.code, given.out]).toEqual([2, '']);
      expect(given.err).toContain(asked.out);
    },
  );

  it('prints the script of completion with the name of the shell too', async () => {
    const script = await kithdb(['completion']);
    for (const shell of ['bash', 'zsh']) expect(await kithdb(['completion', shell])).toEqual(script);
    expect((await kithdb(['completion', 'powershell'])).code).toBe(2);
  });

  itUnless(whyNoZsh()).each([
    ['kithdb re', 'restore repair reembed'],
    ['kithdb admin r', 'reset-password rotate-secret repair'],
    ['kithdb check --c', '--collection --config'],
    ['kithdb check --data-dir package.js', 'package.json'],
  ])('completes %j in a real zsh', async (line, expected) => {
    const { out } = await kithdb(['completion', 'zsh']);
    const words = line.split(' ');
    const current = words.at(-1)!;
    // As bashcompinit runs functions of bash: with these options, and zsh takes the words that fit.
    const asked = `ask() {
      PREFIX='${current}'
      emulate -L sh; setopt kshglob noshglob braceexpand nokshautoload
      COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _kithdb; echo "\${COMPREPLY[*]}"
    }; ask`;
    const env = { ...process.env, HOME: dataDir, ZDOTDIR: dataDir };
    const { stdout, stderr } = spawnSync('zsh', ['-f', '-c', `${out}\n${asked}`], { encoding: 'utf8', env });
    const fitting = stdout.split(/\s/).filter((word) => word !== '' && word.startsWith(current));
    expect([fitting.join(' '), stderr]).toEqual([expected, '']);
  });

  it('completes in fish', async () => {
    const { out } = await kithdb(['completion', 'fish']);
    expect(out).toContain("complete -c kithdb -n '__kithdb_at \\'token\\'' -a rotate -d ");
    for (const { name } of VERBS) {
      expect(out).toContain(`\\'${name}\\'`);
    }
  });

  itUnless(whyNoFish()).each([
    ['kithdb re', 'reembed repair restore'],
    ['kithdb admin r', 'repair reset-password rotate-secret'],
    ['kithdb check --c', '--collection --config'],
    ['kithdb query notes --ve', '--vector --version'],
    ['kithdb --insecure', '--insecure-no-auth'],
    ['kithdb check --data-dir package.js', 'package.json'],
    ['kithdb import package.js', 'package.json'],
  ])('completes %j in a real fish', async (line, expected) => {
    const { out } = await kithdb(['completion', 'fish']);
    const script = `${out}\ncomplete -C '${line}'`;
    const { stdout, stderr } = spawnSync('fish', ['--no-config', '-c', script], { encoding: 'utf8' });
    const words = stdout.split('\n').map((word) => word.split('\t')[0]);
    expect([words.filter(Boolean).sort().join(' '), stderr]).toEqual([expected, '']);
  });

  it('every verb that does something has --json', () => {
    const without = VERBS.filter(({ flags = [] }) => !flags.some(({ name }) => name === 'json'));
    const texts = /^(?:help|completion|version|token generate)/;
    expect(without.map(({ name }) => name).filter((name) => !texts.test(name))).toEqual(['serve', 'mcp']);
  });

  it('docs/cli.md is current: node bin/kithdb.js help commands > docs/cli.md', async () => {
    const page = readFileSync(join(__dirname, '..', '..', 'docs', 'cli.md'), 'utf8');
    const { out } = await kithdb(['help', 'commands']);
    expect(out).toBe(page);
    for (const { name, flags = [] } of VERBS) {
      const [, section = ''] = page.split(`\n## \`kithdb ${name}\`\n`);
      const own = section.split('\n## ')[0]!;
      expect(flags.filter((flag) => !own.includes(`\`--${flag.name}`))).toEqual([]);
    }
  });

  it('writes no colours and no control characters into a pipe, whatever the verb says', async () => {
    for (const { name, usesSettings } of VERBS.filter((verb) => verb.name !== 'serve')) {
      // init makes the directory that the others must not find.
      const own = name === 'init' ? ['--data-dir', join(dataDir, 'made'), '--to', dataDir] : undefined;
      const where = usesSettings ? (own ?? ['--data-dir', join(dataDir, 'none')]) : [];
      for (const argv of [
        [...name.split(' '), ...where],
        [...name.split(' '), '--help'],
      ]) {
        const { out, err } = await kithdb(argv, { env: { FORCE_COLOR: '1' } });
        // eslint-disable-next-line no-control-regex -- that is what it is about
        expect([name, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/.exec(`${out}${err}`)]).toEqual([
          name,
          null,
        ]);
      }
    }
  });

  it('prints the version and the reference of settings', async () => {
    const { version } = JSON.parse(readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8'));
    for (const argv of [['version'], ['--version'], ['-v']]) {
      expect(await kithdb(argv)).toEqual({ code: 0, out: `${version}\n`, err: '' });
    }
    expect((await kithdb(['help', 'configuration'])).out).toBe(settingsReference());
  });

  it.each([
    [['srve'], /^kithdb: Unknown verb srve\. Did you mean serve\? kithdb help lists the verbs\n$/],
    [['start'], /^kithdb: Unknown verb start\. kithdb help lists the verbs\n$/],
    [['serve', 'now'], /^kithdb: kithdb serve takes no argument now: kithdb serve --help lists its flags\n$/],
    [['collections', 'list'], /takes no argument list: it lists them; they are made by kithdb import/],
    [['restore', '/some/backup'], /^kithdb: kithdb restore takes no argument \/some\/backup: /],
    [['admin'], /^kithdb: kithdb admin needs one of its verbs\n\nUsage: kithdb admin <verb> \[flags\]\n/],
    [
      ['token', 'lits'],
      /^kithdb: Unknown verb token lits\. Did you mean token list\? There are: token list, [a-z, ]*token generate\n$/,
    ],
    [['tokne'], /^kithdb: Unknown verb tokne\. Did you mean token\?/],
    [['help', 'chekc'], /^kithdb: Unknown verb chekc\. Did you mean check\?/],
    [['--prot', '1'], /^kithdb: Unknown flag --prot\. Did you mean --port\?\n$/],
    [['--data-dri=x'], /^kithdb: Unknown flag --data-dri\. Did you mean --data-dir\?\n$/],
    [['-data-dir', 'x'], /^kithdb: Unknown flag -data-dir\. Did you mean --data-dir\?\n$/],
    [
      ['--admin-password', 'x'],
      /^kithdb: Unknown flag --admin-password\. Did you mean --admin-password-file\?\n$/,
    ],
    [['version', '--prot', '1'], /^kithdb: Unknown flag --prot\. kithdb version --help lists its flags\n$/],
    [['backup', '--output', 'x'], /^kithdb: Unknown flag --output\. kithdb backup --help lists its flags\n$/],
    [['check', '--prot', '1'], /^kithdb: Unknown flag --prot\. kithdb check --help lists its flags\n$/],
    [
      ['backup', '--from', 'x'],
      /^kithdb: kithdb backup has no flag --from: it is one of kithdb restore and kithdb migrate qdrant and kithdb migrate chroma\n$/,
    ],
    [['repair', '--yes=false'], /^kithdb: --yes takes no value\n$/],
    [['restore', '--from'], /^kithdb: --from needs a value: --from FOLDER\n$/],
    [['restore'], /^kithdb: --from FOLDER is required\n$/],
    [['--port', 'x', '--log-level', 'y'], /^kithdb: --port must be .*\n {2}--log-level must be .*\n$/],
  ])('%j is a wrong use: exit code 2', async (argv, message) => {
    expect(await kithdb(argv)).toEqual({ code: 2, out: '', err: expect.stringMatching(message) });
    expect(started).not.toHaveBeenCalled();
  });

  it('a start that fails is exit code 1: in a sentence where there is one, with its stack where it is a fault', async () => {
    started.mockRejectedValueOnce(new StartError('Cannot listen on x: the address is already in use'));
    expect(await kithdb([])).toEqual({
      code: 1,
      out: '',
      err: 'kithdb: Cannot listen on x: the address is already in use\n',
    });
    started.mockRejectedValueOnce(new TypeError('a fault'));
    expect(await kithdb([])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/TypeError: a fault\n\s+at /),
    });
  });

  it('knows every error that explains itself', () => {
    const errors = [
      new CommandError('x'),
      new ConfigError(['x']),
      new AuthStartError('x'),
      new BackupError('x'),
      new ExposureError('x'),
      new StartError('x'),
      new StoreInUse('x'),
      new StoreOfCluster('x'),
      new StoreDamaged('x', 'y'),
      new StoreUnavailable('x'),
    ];
    expect(new Set(errors.map(({ name }) => name))).toEqual(EXPLAINED);
  });
});

describe('C11.2 kithdb health', () => {
  const fixtures = join(__dirname, '..', 'fixtures');
  const [cert, key] = ['localhost-cert.pem', 'localhost-key.pem'].map((name) => join(fixtures, name));

  it.each(['http', 'https'])('finds a server that speaks %s where the file says', async (scheme) => {
    let status = 200;
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      response.writeHead(request.url === '/readyz' ? status : 404).end();
    };
    const server =
      scheme === 'http'
        ? createHttp(answer)
        : createHttps({ cert: readFileSync(cert!), key: readFileSync(key!) }, answer);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const path = join(dataDir, 'kithdb.yaml');
    const tls = scheme === 'http' ? '' : `tls_cert: ${cert}\ntls_key: ${key}\n`;
    writeFileSync(path, `port: ${port}\n${tls}`);
    const env = {
      KITHDB_HOST: '0.0.0.0',
      KITHDB_CONFIG: path,
      KITHDB_ADMIN_PASSWORD_FILE: '/run/secrets/gone',
    };
    expect(await kithdb(['health'], { env })).toEqual({ code: 0, out: 'ready\n', err: '' });
    expect((await kithdb(['health', '--json'], { env })).out).toBe('{"ready":true}\n');
    status = 503;
    expect(await kithdb(['health'], { env })).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /^kithdb: The server at 127\.0\.0\.1 port \d+ is not ready: \/readyz says 503/,
      ),
    });
    server.close();
    await once(server, 'close');
    expect(await kithdb(['health'], { env })).toMatchObject({
      code: 1,
      err: expect.stringMatching(/is not ready: .*ECONNREFUSED/),
    });
  });
});

describe('C11.4 kithdb admin reset-password', () => {
  const reset = ['admin', 'reset-password', '--data-dir'];
  const auth = (config: object = {}) =>
    openAuth({ ...AUTH_CONFIG, dataDir, tokenStore: undefined, ...config }, SILENT, processAuth());

  async function firstStart(): Promise<string> {
    const service = await auth({ adminPassword: PASSWORD });
    const outcome = await service.login(PASSWORD, '127.0.0.1');
    await service.close();
    return outcome.kind === 'success' ? outcome.jwt : '';
  }

  async function expectPassword(password: string, jwt: string): Promise<void> {
    const service = await auth();
    expect(await service.login(password, '127.0.0.1')).toMatchObject({ kind: 'success' });
    expect(await service.identify(`Bearer ${jwt}`, undefined)).toBeNull();
    await service.close();
  }

  it('takes the first line of standard input', async () => {
    const jwt = await firstStart();
    const stdin = Readable.from([`${NEW_PASSWORD}\nmore\n`]);
    const { code, out } = await kithdb([...reset, dataDir], { stdin });
    expect([code, out]).toEqual([0, 'The admin password is reset; every login from before is invalid.\n']);
    await expectPassword(NEW_PASSWORD, jwt);
  });

  it('takes KITHDB_ADMIN_PASSWORD', async () => {
    const jwt = await firstStart();
    const env = { KITHDB_ADMIN_PASSWORD: NEW_PASSWORD };
    const { code, out } = await kithdb([...reset, dataDir, '--json'], { env });
    expect([code, out]).toEqual([0, '{"reset":true}\n']);
    await expectPassword(NEW_PASSWORD, jwt);
  });

  it('asks twice on a terminal, without an echo', async () => {
    const jwt = await firstStart();
    const modes: boolean[] = [];
    const terminal = () =>
      Object.assign(new PassThrough(), { isTTY: true, setRawMode: (raw: boolean) => modes.push(raw) });
    const stdin = terminal();
    stdin.write(`${NEW_PASSWORD}X\x7f\r${NEW_PASSWORD}\r`);
    const { code, err, out } = await kithdb([...reset, dataDir], { stdin });
    expect(code).toBe(0);
    expect(err).toBe('New admin password: \nThe same again: \n');
    expect(err + out).not.toContain(NEW_PASSWORD);
    expect(modes).toEqual([true, false, true, false]);
    await expectPassword(NEW_PASSWORD, jwt);

    const accented = `${NEW_PASSWORD}é`;
    const inPieces = terminal();
    for (const line of [accented, accented]) {
      const bytes = Buffer.from(`${line}\r`);
      inPieces.write(bytes.subarray(0, -2));
      inPieces.write(bytes.subarray(-2));
    }
    expect((await kithdb([...reset, dataDir], { stdin: inPieces })).code).toBe(0);
    await expectPassword(accented, jwt);

    const interrupted = terminal();
    interrupted.write('abc\x03');
    expect(await kithdb([...reset, dataDir], { stdin: interrupted })).toMatchObject({
      code: 1,
      err: expect.stringMatching(/Interrupted/),
    });
  });

  it('is refused while a server runs', async () => {
    const service = await auth({ adminPassword: PASSWORD });
    const { code, err } = await kithdb([...reset, dataDir], { env: { KITHDB_ADMIN_PASSWORD: NEW_PASSWORD } });
    expect(code).toBe(1);
    expect(err).toMatch(/in use: another KithDB process runs on this data directory/);
    expect(await service.login(PASSWORD, '127.0.0.1')).toMatchObject({ kind: 'success' });
    await service.close();
  });

  it('needs the file of the password that it is given, and none of another setting', async () => {
    await firstStart();
    const gone = join(dataDir, 'gone');
    expect(
      await kithdb([...reset, dataDir], {
        env: { KITHDB_JWT_SECRET_FILE: gone, KITHDB_ADMIN_PASSWORD_FILE: gone },
        stdin: Readable.from([`${NEW_PASSWORD}\n`]),
      }),
    ).toEqual({
      code: 2,
      out: '',
      err: `kithdb: KITHDB_ADMIN_PASSWORD_FILE must name a readable file: ${gone} cannot be read (no such file)\n`,
    });
    const { code } = await kithdb([...reset, dataDir], {
      env: { KITHDB_TLS_CERT: gone, KITHDB_JWT_SECRET_FILE: gone, KITHDB_ADMIN_PASSWORD: NEW_PASSWORD },
    });
    expect(code).toBe(0);
  });

  it('says that the disk is full, and what to do', async () => {
    const jwt = await firstStart();
    const full = Object.assign(new Error('SQLITE_FULL: database or disk is full'), { code: 'SQLITE_FULL' });
    const spy = jest.spyOn(SqlStore.prototype, 'replaceAdmin').mockRejectedValueOnce(full);
    const env = { KITHDB_ADMIN_PASSWORD: NEW_PASSWORD };
    expect(await kithdb([...reset, dataDir], { env })).toEqual({
      code: 1,
      out: '',
      err: `kithdb: the disk of the data directory ${dataDir} is full: make room on it, and run the command again\n`,
    });
    spy.mockRestore();
    expect((await kithdb([...reset, dataDir], { env })).code).toBe(0);
    await expectPassword(NEW_PASSWORD, jwt);
  });

  it('says why it cannot use a folder', async () => {
    const env = { KITHDB_ADMIN_PASSWORD: NEW_PASSWORD };
    const file = join(dataDir, 'file');
    writeFileSync(file, '');
    expect(await kithdb([...reset, file], { env })).toEqual({
      code: 1,
      out: '',
      err: `kithdb: The data directory cannot be used: ${join(file, 'auth.sqlite3')}: a part of the path is no folder (ENOTDIR)\n`,
    });
  });

  it('opens no directory with an unfinished restore', async () => {
    await firstStart();
    writeFileSync(join(dataDir, 'RESTORING'), '');
    expect(await kithdb([...reset, dataDir], { env: { KITHDB_ADMIN_PASSWORD: NEW_PASSWORD } })).toEqual({
      code: 1,
      out: '',
      err: `kithdb: A restore into ${dataDir} did not come to its end: empty the folder and restore again\n`,
    });
  });

  it('says what is missing', async () => {
    const env = { KITHDB_ADMIN_PASSWORD: NEW_PASSWORD };
    expect(await kithdb([...reset, join(dataDir, 'absent')], { env })).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^kithdb: No server has run on .*absent yet/),
    });
    await (await auth()).close();
    expect(await kithdb([...reset, dataDir], { env })).toMatchObject({
      code: 1,
      err: expect.stringMatching(/There is no admin yet/),
    });
    expect(await kithdb([...reset, dataDir])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/No password/),
    });
    expect(await kithdb([...reset, dataDir], { stdin: Readable.from(['weak\n']) })).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^kithdb: The password must have at least 12 characters/),
    });
    expect(await kithdb([...reset, dataDir, '--token-store', 'memory'], { env })).toMatchObject({ code: 1 });
  });
});

describe('C11.1 npm start', () => {
  it('takes relative paths in flags from where npm was called', () => {
    const url = pathToFileURL(join(__dirname, '..', '..', 'scripts', 'caller-paths.mjs')).href;
    const flags = [
      '--data-dir',
      'a',
      '--config=../b',
      '--port',
      '1',
      '--log-level=info',
      '--tls-key',
      '/c',
      '--data-dir',
    ];
    const script = `import { pathsFrom } from ${JSON.stringify(url)};
      const paths = ${JSON.stringify(['data-dir', 'config', 'tls-key'])};
      console.log(JSON.stringify(pathsFrom(${JSON.stringify(flags)}, '/from/here', (flag) => paths.includes(flag))));`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    const made = ['--data-dir', '/from/here/a', '--config=/from/b', '--port', '1', '--log-level=info'];
    expect(JSON.parse(stdout)).toEqual([...made, '--tls-key', '/c', '--data-dir']);
    const paths = ['data-dir', 'config', 'tls-cert', 'tls-key', 'jwt-secret-file', 'models', 'cluster-store'];
    expect(paths.filter((flag) => !isPathFlag(flag))).toEqual([]);
    expect(['host', 'port', 'jwt-secret', 'file'].filter((flag) => isPathFlag(flag))).toEqual([]);
  });

  it('takes a file of models and a folder of checkpoints for paths, and neither a list nor a bucket', () => {
    const given = [
      ['models', 'models.yaml'],
      ['models', '[{ name: a }]'],
      ['models', '- name: a'],
      ['cluster-store', 'store'],
      ['cluster-store', 's3://bucket/store'],
    ] as const;
    const paths = JSON.stringify(given.filter(([flag, value]) => isPathFlag(flag, value)));
    const isPath = `(flag, value) => ${paths}.some((one) => one[0] === flag && one[1] === value)`;
    const made = (flags: readonly string[]): unknown =>
      inScript(
        'scripts/caller-paths.mjs',
        `script.pathsFrom(${JSON.stringify(flags)}, '/from/here', ${isPath})`,
      );
    const absolute = [
      '/from/here/models.yaml',
      '[{ name: a }]',
      '- name: a',
      '/from/here/store',
      's3://bucket/store',
    ];
    expect(made(given.flatMap(([flag, value]) => [`--${flag}`, value]))).toEqual(
      given.flatMap(([flag], at) => [`--${flag}`, absolute[at]]),
    );
    expect(made(given.map(([flag, value]) => `--${flag}=${value}`))).toEqual(
      given.map(([flag], at) => `--${flag}=${absolute[at]}`),
    );
  });
});
