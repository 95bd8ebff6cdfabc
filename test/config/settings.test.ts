import fc from 'fast-check';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ConfigError,
  environmentName,
  loadConfig,
  readFlags,
  settingsReference,
  type Config,
} from '../../src/config';
import { editDistance, nearest, suggestion } from '../../src/config/nearest';
import { settingsHelp } from '../../src/config/reference';
import { describe as lineOf, fileKey, flagName, SETTING_KEYS } from '../../src/config/settings';

const ROOT = join(__dirname, '..', '..');
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-config-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function load(argv: readonly string[] = [], env: Record<string, string> = {}, terminal = false): Config {
  return loadConfig({ commandLine: readFlags(argv), env, terminal });
}

function problems(argv: readonly string[], env: Record<string, string> = {}): readonly string[] {
  try {
    load(argv, env);
  } catch (error) {
    if (error instanceof ConfigError) {
      return error.problems;
    }
    throw error;
  }
  return [];
}

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

describe('C11.2 defaults', () => {
  it('serve on 127.0.0.1:6363 from ./kithdb-data without any setting', () => {
    const config = load();
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 6363,
      dataDir: join(process.cwd(), 'kithdb-data'),
      authEnabled: undefined,
      insecureNoAuth: false,
      jwtTtlSeconds: 3600,
      corsOrigins: [],
      trustedProxies: [],
      dialect: 'specification',
      console: true,
      tokenStore: undefined,
      allowFilesystem: [],
      scrubMbPerSecond: 20,
      scrubIntervalHours: 24,
      logLevel: 'info',
      maxBodyBytes: 64 * 1024 * 1024,
    });
    expect(config.searchThreads).toBeGreaterThan(0);
    expect(config.tls).toBeUndefined();
  });

  it('are the limits of C2.7', () => {
    expect(load().limits).toEqual({
      maxPointsPerRequest: 10_000,
      maxFilterConditions: 1024,
      maxPrefetchDepth: 64,
      maxPrefetches: 64,
      maxResultWindow: 100_000,
      maxNamedVectors: 64,
      maxFieldIndexes: 256,
      maxCollections: 65_536,
      maxCursors: 1000,
    });
  });

  it('log for people on a terminal and as JSON elsewhere', () => {
    expect(load([], {}, true).logFormat).toBe('pretty');
    expect(load([], {}, false).logFormat).toBe('json');
    expect(load([], { KITHDB_LOG_FORMAT: 'json' }, true).logFormat).toBe('json');
  });

  it('are frozen, like every configuration', () => {
    const config = load();
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config.limits)).toBe(true);
    expect(Object.isFrozen(config.corsOrigins)).toBe(true);
  });
});

describe('C11.2 sources', () => {
  it('a flag beats the environment, which beats the file, for any mix of them', () => {
    const port = fc.option(fc.integer({ min: 0, max: 65_535 }), { nil: undefined });
    fc.assert(
      fc.property(port, port, port, (flag, variable, key) => {
        const path = file('mix.yaml', key === undefined ? '' : `port: ${key}\n`);
        const argv = ['--config', path, ...(flag === undefined ? [] : ['--port', String(flag)])];
        const env = variable === undefined ? {} : { KITHDB_PORT: String(variable) };
        expect(load(argv, env).port).toBe(flag ?? variable ?? key ?? 6363);
      }),
      { numRuns: 50 },
    );
  });

  it('a bad value that a stronger source overrides is not checked', () => {
    expect(load(['--port', '7000'], { KITHDB_PORT: 'seven' }).port).toBe(7000);
  });

  /** What is in force, without where it comes from. */
  const loaded = (...from: Parameters<typeof load>): Omit<Config, 'settings'> => {
    const { settings, ...values } = load(...from);
    expect(settings).not.toEqual([]);
    return values;
  };

  it.each(SETTING_KEYS.filter((key) => lineOf(key).notInFile !== true))(
    '%s has an environment variable, a key of the file, and a flag unless it is a secret',
    (key) => {
      const value = exampleOf(key);
      const others = othersOf(key);
      const byVariable = loaded(others, { [environmentName(key)]: value });
      const byFile = loaded([
        ...others,
        '--config',
        file('one.yaml', `${fileKey(key)}: ${JSON.stringify(value)}\n`),
      ]);
      expect(byFile).toEqual(byVariable);
      const changed = key === 'tlsCert' || key === 'tlsKey' ? byVariable.tls : byVariable;
      expect(changed).not.toEqual(/^(?:cluster.|nats)/.test(key) ? loaded(CLUSTER) : loaded());
      if (lineOf(key).secret === true) {
        expect(readFlags([`--${flagName(key)}`, value]).unknownFlags).toEqual([`--${flagName(key)}`]);
        const secretFile = file('secret', value);
        expect(loaded([...others, `--${flagName(key)}-file`, secretFile])).toEqual(byVariable);
        expect(loaded(others, { [`${environmentName(key)}_FILE`]: secretFile })).toEqual(byVariable);
      } else {
        expect(loaded([...others, `--${flagName(key)}=${value}`])).toEqual(byVariable);
      }
    },
  );

  it('a switch needs no value, and takes one', () => {
    expect(load(['--insecure-no-auth']).insecureNoAuth).toBe(true);
    expect(load(['--insecure-no-auth', '--port', '1'])).toMatchObject({ insecureNoAuth: true, port: 1 });
    expect(load(['--auth-enabled=false']).authEnabled).toBe(false);
    expect(load(['--auth-enabled', 'false']).authEnabled).toBe(false);
    expect(readFlags(['--auth-enabled', 'serve']).positionals).toEqual(['serve']);
  });

  it('the last of a repeated flag counts', () => {
    expect(load(['--port', '1', '--port', '2']).port).toBe(2);
  });

  it('KITHDB_CONFIG names the file too, and an empty file is no error', () => {
    expect(load([], { KITHDB_CONFIG: file('env.yaml', 'log_level: debug\n') }).logLevel).toBe('debug');
    expect(load(['--config', file('empty.yaml', '# nothing\n')]).port).toBe(6363);
  });

  it('lists origins with commas, or as a list in the file', () => {
    const origins = ['https://a.example', 'http://b.example:8080'];
    expect(load([], { KITHDB_CORS_ORIGINS: ` ${origins.join(' , ')} ` }).corsOrigins).toEqual(origins);
    expect(
      load(['--config', file('list.yaml', `cors_origins: [${origins.join(', ')}]\n`)]).corsOrigins,
    ).toEqual(origins);
    expect(load([], { KITHDB_CORS_ORIGINS: '' }).corsOrigins).toEqual([]);
  });

  it('TLS needs both files, and reads them', () => {
    expect(load(['--tls-cert', pem(), '--tls-key', pem()]).tls?.cert).toContain('BEGIN');
    expect(problems(['--tls-cert', pem()])).toEqual(['KITHDB_TLS_CERT needs KITHDB_TLS_KEY too']);
    expect(problems(['--tls-cert', join(folder, 'absent'), '--tls-key', pem()])[0]).toMatch(
      /^KITHDB_TLS_CERT: .*no such file/,
    );
    expect(problems(['--tls-cert', file('no.pem', 'x'), '--tls-key', pem()])[0]).toMatch(/PEM/);
  });
});

describe('C11.2 mistakes are errors that name what is right', () => {
  it.each([
    [[], { KITHDB_PROT: '1' }, 'Unknown environment variable KITHDB_PROT. Did you mean KITHDB_PORT?'],
    [
      [],
      { KITHDB_MAX_BODY_SIZE: '1' },
      'Unknown environment variable KITHDB_MAX_BODY_SIZE. Did you mean KITHDB_MAX_BODY_BYTES?',
    ],
    [[], { KITHDB_PORT_FILE: '/x' }, undefined],
    [
      [],
      { KITHDB_COLOUR_OF_THE_LOGO: 'red' },
      expect.stringMatching(
        /^Unknown environment variable KITHDB_COLOUR_OF_THE_LOGO\. The nearest is KITHDB_\w+; kithdb serve --help lists/,
      ),
    ],
    [['--port'], {}, '--port needs a value: --port N'],
    [['--host', '--port', '1'], {}, '--host needs a value: --host ADDRESS'],
    [['--port', '65536'], {}, '--port must be a whole number from 0 to 65535, not "65536"'],
    [[], { KITHDB_PORT: '' }, 'KITHDB_PORT must be a whole number from 0 to 65535, not ""'],
    [[], { KITHDB_HOST: ' ' }, 'KITHDB_HOST must be a text that is not empty, not " "'],
    [['--config', ''], {}, '--config must be a text that is not empty, not ""'],
    [[], { KITHDB_AUTH_ENABLED: 'maybe' }, 'KITHDB_AUTH_ENABLED must be true or false, not "maybe"'],
    [
      [],
      { KITHDB_LOG_LEVEL: 'loud' },
      'KITHDB_LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, not "loud"',
    ],
    [
      [],
      { KITHDB_TOKEN_STORE: 'redis' },
      'KITHDB_TOKEN_STORE must be one of sqlite3, node-sqlite, memory, not "redis"',
    ],
    [
      [],
      { KITHDB_MAX_POINTS_PER_REQUEST: '0' },
      'KITHDB_MAX_POINTS_PER_REQUEST must be a whole number from 1 to 10000000, not "0"',
    ],
    [
      [],
      { KITHDB_ADMIN_PASSWORD: '' },
      'KITHDB_ADMIN_PASSWORD must be a text that is not empty and has no NUL',
    ],
  ])('%j %j', (argv, env, expected) => {
    const found = problems(argv, env);
    expect(found).toEqual(expected === undefined ? [] : [expected]);
  });

  it.each(['*', 'example.com', 'https://example.com/path', 'null'])('refuses the origin %s', (origin) => {
    expect(problems([], { KITHDB_CORS_ORIGINS: origin })[0]).toMatch(
      /^KITHDB_CORS_ORIGINS must be a list of web origins/,
    );
  });

  it('reads address blocks from a text and from a list; an address is a block of one', () => {
    const blocks = ['10.0.0.0/8', '192.0.2.7/32', '2001:db8::/32', '::1/128'];
    expect(load([], { KITHDB_TRUSTED_PROXIES: '10.0.0.0/8, 192.0.2.7,2001:db8::/32 ,::1' })).toMatchObject({
      trustedProxies: blocks,
    });
    const listed = file(
      'proxies.yaml',
      'trusted_proxies: ["10.0.0.0/8", 192.0.2.7, "2001:db8::/32", "::1"]\n',
    );
    expect(load(['--config', listed]).trustedProxies).toEqual(blocks);
  });

  it.each([
    '10.0.0.0/33',
    '10.0.0/8',
    'proxy',
    '::/129',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    'fe80::%eth0/64',
    '/8',
  ])('refuses the address block %s', (block) => {
    expect(problems([], { KITHDB_TRUSTED_PROXIES: `127.0.0.1,${block}` })[0]).toMatch(
      /^KITHDB_TRUSTED_PROXIES must be a list of address blocks/,
    );
  });

  it.each([
    ['http://localhost:80', 'http://localhost'],
    ['https://App.example', 'https://app.example'],
    ['https://app.example/', 'https://app.example'],
  ])('says how browsers write the origin %s', (origin, written) => {
    expect(problems([], { KITHDB_CORS_ORIGINS: `https://a.example,${origin}` })).toEqual([
      `KITHDB_CORS_ORIGINS must be a list of web origins as browsers send them: ${written} in place of ${origin}, not "https://a.example,${origin}"`,
    ]);
  });

  it('takes the highest value of every number as a flag, and none above it', () => {
    const highest = SETTING_KEYS.flatMap((key) => {
      try {
        lineOf(key).parse('none');
      } catch (error) {
        const [, bound] = /^a whole number from \d+ to (\d+)$/.exec((error as Error).message) ?? [];
        if (bound !== undefined) return [[key, bound] as const];
      }
      return [];
    });
    expect(highest.map(([key]) => key)).toContain('maxSnapshotBytes');
    for (const [key, bound] of highest) {
      expect([key, lineOf(key).parse(bound)]).toEqual([key, Number(bound)]);
      expect(() => lineOf(key).parse(String(BigInt(bound) + 1n))).toThrow(/a whole number/);
    }
  });

  it('a key of the file is checked like the others', () => {
    const path = file('bad.yaml', 'prot: 1\nconfig: x\nport: {}\nlog_level: loud\n');
    expect(problems(['--config', path])).toEqual([
      `Unknown key prot in ${path}. Did you mean port?`,
      expect.stringMatching(/^Unknown key config in /),
      `port in ${path} must be a single value`,
      expect.stringMatching(/^log_level in .* must be one of/),
    ]);
    expect(problems(['--config', file('list.yaml', '- 1\n')])[0]).toMatch(/must be a map/);
    expect(problems(['--config', file('twice.yaml', 'port: 1\nport: 2\n')])[0]).toMatch(/not valid YAML/);
    expect(problems(['--config', file('broken.yaml', 'port: [1\n')])[0]).toMatch(/not valid YAML/);
    expect(problems(['--config', join(folder, 'absent.yaml')])[0]).toMatch(/^Cannot read .*no such file/);
  });

  it('says that what YAML does not take for a text needs quotes', () => {
    const path = file(
      'types.yaml',
      'jwt_secret: 12345678901234567890123456789012\nhost: true\ntls_cert: [a]\n',
    );
    expect(problems(['--config', path])).toEqual([
      `host in ${path} must be a text: put it in quotes, not true`,
      `tls_cert in ${path} must be a text: put it in quotes, not ["a"]`,
      `jwt_secret in ${path} must be a text: put it in quotes`,
    ]);
    expect(load(['--config', file('number.yaml', 'data_dir: 2026\n')]).dataDir).toMatch(/2026$/);
  });

  it('reports every mistake at once', () => {
    expect(
      problems(['--log-format', 'x', '--port', 'x'], { KITHDB_HOTS: 'y', KITHDB_LOG_LEVEL: 'z' }),
    ).toHaveLength(4);
  });

  it('never shows a secret', () => {
    const env = { KITHDB_JWT_SECRET: 'first-secret', SERVICE_JWT_SECRET: 'second-secret' };
    expect(problems([], env).join()).not.toMatch(/first-secret|second-secret/);
  });

  it('ignores what Kubernetes injects for a service named kithdb', () => {
    const env = {
      KITHDB_SERVICE_HOST: '10.0.0.1',
      KITHDB_SERVICE_PORT: '6363',
      KITHDB_SERVICE_PORT_HTTP: '6363',
      KITHDB_PORT: 'tcp://10.0.0.1:6363',
      KITHDB_PORT_6363_TCP: 'tcp://10.0.0.1:6363',
      KITHDB_PORT_6363_TCP_ADDR: '10.0.0.1',
    };
    expect(load([], env).port).toBe(6363);
    expect(problems(['--port', 'tcp://10.0.0.1:6363'])).toHaveLength(1);
  });

  it('ignores what Kubernetes injects for a service whose name begins so, and nothing else', () => {
    const injected = {
      KITHDB_HEADLESS_SERVICE_HOST: '10.0.0.1',
      KITHDB_HEADLESS_SERVICE_PORT: '6363',
      KITHDB_HEADLESS_SERVICE_PORT_HTTP: '6363',
      KITHDB_HEADLESS_PORT: 'tcp://10.0.0.1:6363',
      KITHDB_HEADLESS_PORT_6363_TCP: 'tcp://10.0.0.1:6363',
      KITHDB_HEADLESS_PORT_6363_TCP_PROTO: 'tcp',
      KITHDB_HEADLESS_PORT_6363_TCP_PORT: '6363',
      KITHDB_HEADLESS_PORT_6363_TCP_ADDR: 'fd00::1',
    };
    expect(load([], injected)).toEqual(load());
    const unknown = { KITHDB_HEADLESS_PORT: '6363', KITHDB_MY_HOST: 'x', KITHDB_MY_PORT_6363_TCP: 'other' };
    expect(problems([], unknown)).toHaveLength(3);
    // Names of settings are settings, whatever they hold.
    expect(load([], { KITHDB_HOST: '10.0.0.1' }).host).toBe('10.0.0.1');
  });

  it('takes an access token of 24 to 256 printable characters, which never has the permission admin', () => {
    for (const token of ['x'.repeat(24), '~ '.repeat(127) + '~!']) {
      expect(load([], { KITHDB_ACCESS_TOKEN: token }).accessToken).toBe(token);
      expect(load(['--access-token-file', file('token', `${token}\n`)]).accessToken).toBe(token);
    }
    for (const token of [
      'x'.repeat(23),
      'x'.repeat(257),
      ` ${'x'.repeat(24)}`,
      `${'x'.repeat(24)}é`,
      `${'x'.repeat(24)}\t`,
    ]) {
      const must = '24 to 256 printable characters of ASCII, with no space at either end';
      expect(problems([], { KITHDB_ACCESS_TOKEN: token })).toEqual([`KITHDB_ACCESS_TOKEN must be ${must}`]);
      expect(problems([], { KITHDB_ACCESS_TOKEN_FILE: file('token', token) })).toEqual([
        `KITHDB_ACCESS_TOKEN_FILE must name a file that holds ${must}`,
      ]);
    }
    const permission = (list: string) =>
      load([], { KITHDB_ACCESS_TOKEN_PERMISSION: list }).accessTokenPermission;
    expect(['read', 'write', 'write, read'].map(permission)).toEqual(['read', 'write', 'read,write']);
    for (const list of ['admin', 'read,admin', '', 'reed']) {
      expect(problems([], { KITHDB_ACCESS_TOKEN_PERMISSION: list })).toHaveLength(1);
    }
    const both = { KITHDB_ACCESS_TOKEN: 'x'.repeat(24), KITHDB_AUTH_ENABLED: 'false' };
    expect(problems([], both)).toEqual([
      expect.stringMatching(/enables authentication, and KITHDB_AUTH_ENABLED is false/),
    ]);
  });

  it.each([
    ['data-dri', 'data-dir'],
    ['data_dir', 'data-dir'],
    ['dir', 'data-dir'],
    ['password', 'admin-password-file'],
    ['dry', 'dry-run'],
    ['reset-password', 'admin reset-password'],
    ['admin', 'admin-password-file'],
    ['output', undefined],
    ['p', undefined],
    ['start', undefined],
    ['', undefined],
  ])('suggests for %s what was probably meant: %s', (word, expected) => {
    const names = [
      'to',
      'from',
      'data-dir',
      'admin-password-file',
      'dry-run',
      'restore',
      'admin reset-password',
    ];
    expect(suggestion(word, names)).toBe(expected);
  });

  it('finds the nearest name with the fewest edits', () => {
    expect(editDistance('port', 'prot')).toBe(1);
    expect(editDistance('', 'abc')).toBe(3);
    expect(nearest('x', [])).toBeUndefined();
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (a, b) => {
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, b) === 0).toBe(a === b);
        expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
    );
  });
});

describe('C3.2 the JWT secret', () => {
  it('has two names for the same setting', () => {
    expect(load([], { SERVICE_JWT_SECRET: 'one' }).jwtSecret).toBe('one');
    expect(load([], { KITHDB_JWT_SECRET: 'one' }).jwtSecret).toBe('one');
    expect(load([], { KITHDB_JWT_SECRET: 'one', SERVICE_JWT_SECRET: 'one' }).jwtSecret).toBe('one');
  });

  it('is an error when both are set and different, in any of their forms', () => {
    const env = { KITHDB_JWT_SECRET: 'one', SERVICE_JWT_SECRET: 'two' };
    expect(problems([], env)).toEqual([
      'KITHDB_JWT_SECRET and SERVICE_JWT_SECRET are the same setting with different values: give one',
    ]);
    const path = file('secret-two', 'two\n');
    expect(problems([], { KITHDB_JWT_SECRET: 'one', SERVICE_JWT_SECRET_FILE: path })).toHaveLength(1);
    expect(problems([], { SERVICE_JWT_SECRET: 'two', KITHDB_JWT_SECRET_FILE: path })).toEqual([]);
  });

  it('is an error when empty', () => {
    expect(problems([], { SERVICE_JWT_SECRET: '' })).toEqual([
      'SERVICE_JWT_SECRET must be a text that is not empty and has no NUL',
    ]);
    expect(problems([], { KITHDB_JWT_SECRET: '' })).toHaveLength(1);
    expect(problems([], { KITHDB_JWT_SECRET_FILE: file('newline', '\n') })[0]).toMatch(/is empty$/);
  });

  it('is taken byte for byte, less one newline at the end of a file', () => {
    expect(load([], { KITHDB_JWT_SECRET: ' a b \n' }).jwtSecret).toBe(' a b \n');
    expect(load([], { KITHDB_JWT_SECRET_FILE: file('s1', ' a\n\n') }).jwtSecret).toBe(' a\n');
    expect(load([], { KITHDB_JWT_SECRET_FILE: file('s2', 'a\r\n') }).jwtSecret).toBe('a');
    expect(load([], { KITHDB_JWT_SECRET_FILE: file('s3', '\uFEFFa') }).jwtSecret).toBe('\uFEFFa');
  });

  it('must be readable UTF-8 text', () => {
    expect(problems([], { KITHDB_JWT_SECRET_FILE: join(folder, 'absent') })[0]).toMatch(/no such file/);
    const path = join(folder, 'binary');
    writeFileSync(path, Buffer.from([0xff, 0xfe, 0x00]));
    expect(problems([], { KITHDB_JWT_SECRET_FILE: path })[0]).toMatch(/not UTF-8/);
  });
});

describe('C11.2 files of secrets and certificates', () => {
  const gone = '/run/secrets/gone';

  it('are read only when their setting is used', () => {
    const env = {
      KITHDB_TLS_CERT: gone,
      KITHDB_TLS_KEY: gone,
      KITHDB_JWT_SECRET_FILE: gone,
      KITHDB_ADMIN_PASSWORD_FILE: gone,
      KITHDB_DATA_DIR: '/data',
    };
    const commandLine = readFlags([]);
    const given = { commandLine, env, terminal: false };
    expect(loadConfig({ ...given, only: ['config', 'dataDir'] })).toMatchObject({ dataDir: '/data' });
    expect(() => loadConfig({ ...given, only: ['jwtSecret'] })).toThrow(/^KITHDB_JWT_SECRET_FILE must name/);
    expect(problems([], env)).toEqual([
      expect.stringMatching(/^KITHDB_JWT_SECRET_FILE must name a readable file/),
      expect.stringMatching(/^KITHDB_TLS_CERT: .*no such file/),
      expect.stringMatching(/^KITHDB_TLS_KEY: .*no such file/),
    ]);
  });

  it('may be gone where they hold a password that created the admin long ago', () => {
    const config = load([], { KITHDB_ADMIN_PASSWORD_FILE: gone });
    expect(config.adminPassword).toBeUndefined();
    expect(config.adminPasswordProblem).toBe(
      `KITHDB_ADMIN_PASSWORD_FILE must name a readable file: ${gone} cannot be read (no such file)`,
    );
    expect(problems([], { KITHDB_ADMIN_PASSWORD: '' })).toHaveLength(1);
  });
});

describe('C11.2 what is written down', () => {
  it('help and reference name every setting', () => {
    for (const text of [settingsHelp(), settingsReference()]) {
      for (const key of SETTING_KEYS) {
        expect(text).toContain(environmentName(key));
        expect(text).toContain(`--${flagName(key)}`);
      }
    }
    for (const variable of ['SERVICE_JWT_SECRET', 'KITHDB_MAX_RESULT_WINDOW', 'KITHDB_TLS_CERT']) {
      expect(settingsHelp()).toContain(variable);
    }
  });

  it('docs/configuration.md is current: node bin/kithdb.js help configuration > docs/configuration.md', () => {
    expect(readFileSync(join(ROOT, 'docs', 'configuration.md'), 'utf8')).toBe(settingsReference());
  });

  it('only src/config reads the environment', () => {
    const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter(
      // What the console shows for copying is read where it is run.
      (path) => path.endsWith('.ts') && !/^(config|console.app)\b/.test(path),
    );
    expect(sources.length).toBeGreaterThan(10);
    const readers = sources.filter((path) =>
      readFileSync(join(ROOT, 'src', path), 'utf8').includes('process.env'),
    );
    expect(readers).toEqual([]);
  });
});

function pem(): string {
  return file('some.pem', '-----BEGIN CERTIFICATE-----\n');
}

const CLUSTER = ['--cluster', 'nats://log:4222'];

/** What a setting cannot be without, as flags. */
function othersOf(key: (typeof SETTING_KEYS)[number]): readonly string[] {
  const flag = (name: string): readonly string[] => [`--${name}`, pem()];
  const password = ['--nats-password-file', file('password', 'hidden')];
  const bucket = ['--cluster-store', 's3://bucket'];
  const others: Partial<Record<typeof key, readonly string[]>> = {
    tlsCert: flag('tls-key'),
    tlsKey: flag('tls-cert'),
    clusterTlsCert: [...flag('cluster-tls-key'), ...flag('cluster-tls-ca')],
    clusterTlsKey: [...flag('cluster-tls-cert'), ...flag('cluster-tls-ca')],
    clusterTlsCa: [...flag('cluster-tls-cert'), ...flag('cluster-tls-key')],
    ...{ clusterStoreEndpoint: bucket, clusterStoreRegion: bucket },
    natsUser: password,
    natsPassword: ['--nats-user', 'kithdb'],
    natsTlsCert: flag('nats-tls-key'),
    natsTlsKey: flag('nats-tls-cert'),
  };
  return [...(/^(?:cluster.|nats)/.test(key) ? CLUSTER : []), ...(others[key] ?? [])];
}

/** A value for a setting that is not its default. */
function exampleOf(key: (typeof SETTING_KEYS)[number]): string {
  const { placeholder, isSwitch } = lineOf(key);
  if (isSwitch === true) {
    return key === 'console' ? 'false' : 'true';
  }
  const examples: Partial<Record<typeof key, string>> = {
    host: 'localhost',
    corsOrigins: 'https://a.example',
    trustedProxies: '10.0.0.0/8',
    dialect: 'qdrant',
    mcp: 'write',
    models: '[{ name: small, url: http://127.0.0.1:11434/v1, model: e }]',
    tlsCert: pem(),
    tlsKey: pem(),
    cluster: 'nats://127.0.0.1:4222',
    clusterLogCopies: '1',
    clusterListen: '127.0.0.1:7000',
    clusterAdvertise: 'localhost:7000',
    clusterStoreEndpoint: 'http://127.0.0.1:9000',
    natsCredentials: file('log.creds', '-----BEGIN NATS USER JWT-----\n-----BEGIN USER NKEY SEED-----\n'),
    tokenStore: 'memory',
    calibrationPercent: '5',
    accessToken: 'a token of 24 characters',
    accessTokenPermission: 'read',
    logLevel: 'debug',
    logFormat: 'pretty',
    slowRequestMs: '250',
    maxBodyBytes: '4096',
    memoryLimit: '268435456',
    residencyBudget: '1048576',
    searchThreads: '77',
  };
  if (placeholder === 'FILE' && /^(?:cluster|nats)Tls/.test(key)) return pem();
  return examples[key] ?? (placeholder === 'N' || placeholder === 'SECONDS' ? '17' : 'some-text');
}
