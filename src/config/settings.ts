import { CLUSTER_SETTINGS } from './cluster-settings';
import { MAX_LOOPS } from '../event-loops/limits';
import { MCP_MODES, type McpMode } from '../mcp-host/mode';
import { DIALECT_NAMES, type DialectName } from '../http/dialect';
import { processors } from '../process/processors';
import { DEFAULT_SNAPSHOT_LIMITS } from '../snapshots/limits';
import {
  isYamlList,
  oneOf,
  parseAccessToken,
  parseBlocks,
  parseFileSystems,
  parseOrigins,
  parseSecret,
  parseSwitch,
  parseText,
  parseTokenPermission,
  wholeNumber,
  type Setting,
} from './setting';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/** Keeps the type of each line's value while checking its shape. */
function setting<T>(line: Setting<T>): Setting<T> {
  return line;
}

/** A limit of C2.7. */
function limit(fallback: number, highest: number, about: string): Setting<number> {
  return {
    group: 'Limits',
    parse: wholeNumber(1, highest),
    fallback,
    fallbackText: String(fallback),
    placeholder: 'N',
    about,
  };
}

/**
 * The one table of settings. Flags, environment variables, keys of the file, `--help` and `docs/configuration.md` all
 * come from it; a flag beats the environment, which beats the file.
 */
export const SETTINGS = {
  config: setting<string | undefined>({
    group: 'Server',
    parse: parseText,
    fallback: undefined,
    fallbackText: 'none',
    placeholder: 'FILE',
    about: 'A YAML file with settings, one key a line.',
    notInFile: true,
  }),
  host: setting({
    group: 'Server',
    parse: parseText,
    fallback: '127.0.0.1',
    fallbackText: '127.0.0.1',
    placeholder: 'ADDRESS',
    about: 'The address to listen on.',
  }),
  port: setting({
    group: 'Server',
    parse: wholeNumber(0, 65535),
    fallback: 6363,
    fallbackText: '6363',
    placeholder: 'N',
    about: 'The port to listen on; 0 picks a free one, and the log says which.',
  }),
  dataDir: setting({
    group: 'Server',
    parse: parseText,
    fallback: './kithdb-data',
    fallbackText: './kithdb-data',
    placeholder: 'FOLDER',
    about:
      'Where everything is stored. One server at a time serves it; programs that open it, and commands, may have it open beside the server.',
  }),
  tlsCert: setting<string | undefined>({
    group: 'Server',
    parse: parseText,
    fallback: undefined,
    fallbackText: 'none',
    placeholder: 'FILE',
    about:
      'The PEM file of the certificate chain; together with the key it turns TLS (1.2 or later) on. Both are read again when they change, and on SIGHUP.',
  }),
  tlsKey: setting<string | undefined>({
    group: 'Server',
    parse: parseText,
    fallback: undefined,
    fallbackText: 'none',
    placeholder: 'FILE',
    about: 'The PEM file of the private key that belongs to the certificate.',
  }),
  corsOrigins: setting<readonly string[]>({
    group: 'Server',
    parse: parseOrigins,
    fallback: [],
    fallbackText: 'none',
    placeholder: 'ORIGINS',
    about:
      'Web origins whose pages may call the server, separated by commas; every other one is refused. While authentication is disabled and the address is not loopback, that includes the origin of the server itself, unless its host is a loopback name or an IP address.',
  }),
  trustedProxies: setting<readonly string[]>({
    group: 'Server',
    parse: parseBlocks,
    fallback: [],
    fallbackText: 'none',
    placeholder: 'BLOCKS',
    about:
      'Address blocks of the proxies in front of the server (such as 10.0.0.0/8,2001:db8::/32), separated by commas. The client of a request that one of them passes on is the last address in X-Forwarded-For or Forwarded that none of them set: the throttle of logins and the shares of clients count for it. Without it all users behind a proxy count as one.',
  }),
  dialect: setting<DialectName>({
    group: 'Server',
    parse: oneOf(...DIALECT_NAMES),
    fallback: 'specification',
    fallbackText: 'specification',
    placeholder: 'NAME',
    about:
      "What the interface does where the specification and Qdrant differ. With qdrant a retrieve leaves absent ids out, a 404 has Qdrant's sentence, unknown fields and limits beyond the window are passed over with a warning where that is harmless, and the endpoints that recommend, discover, flush, optimize, give a collection's status, and make and recover snapshots answer.",
  }),
  mcp: setting<McpMode>({
    group: 'Server',
    parse: oneOf(...MCP_MODES),
    fallback: 'read',
    fallbackText: 'read',
    placeholder: 'MODE',
    about:
      'The MCP server under /mcp, for which the package @kithdb/mcp has to be installed: with read its tools change nothing, with write they add points too, where the credential of the request may; off turns it off.',
  }),
  models: setting<string | undefined>({
    group: 'Server',
    parse: parseText,
    fallback: undefined,
    fallbackText: 'none',
    placeholder: 'LIST',
    about:
      "The models that make vectors of texts: a YAML list, or the path of a file with it. {name, url, model, key_file, dimension} is an endpoint that speaks OpenAI's embeddings API under that URL; the last two may be absent. {name, path, pooling, normalize, dimension} is a folder with a model, for which the package @kithdb/models has to be installed; the last three may be absent.",
    isStructured: true,
    isPath: (value) => !isYamlList(value),
  }),
  console: setting({
    group: 'Server',
    parse: parseSwitch,
    fallback: true,
    fallbackText: 'true',
    placeholder: 'true|false',
    about:
      'Whether the web console is served, at /console. Its files need no credential; what it shows needs that of the user.',
    isSwitch: true,
  }),
  searchThreads: setting({
    group: 'Server',
    parse: wholeNumber(1, 1024),
    fallback: processors(),
    fallbackText: 'the number of cores, or those of the quota of the container (control group)',
    placeholder: 'N',
    about: 'How many threads answer reads.',
  }),
  eventLoops: setting<number | undefined>({
    group: 'Server',
    parse: wholeNumber(1, MAX_LOOPS),
    fallback: undefined,
    fallbackText:
      'on Linux a quarter of the cores from four on, at least 2, and one for each GiB of memory at most; else 1',
    placeholder: 'N',
    about:
      'How many event loops accept and answer requests, each on a thread of its own. On Windows it is always one. In a cluster it is one, and a higher value is an error.',
  }),
  memoryLimit: setting<number | undefined>({
    group: 'Server',
    parse: wholeNumber(64 * MIB, 1024 * 1024 * GIB),
    fallback: undefined,
    fallbackText: 'the limit of the container (control group), else the memory of the machine',
    placeholder: 'BYTES',
    about:
      'How much memory the process may hold; 128 MiB of it are for Node. From 90 % on, writes that make data grow get a 507, until less than 85 % is held.',
  }),
  residencyIdleSeconds: setting({
    group: 'Server',
    parse: wholeNumber(0, 31_536_000),
    fallback: 600,
    fallbackText: '600',
    placeholder: 'SECONDS',
    about:
      'Time without a request after which a collection sleeps: its memory is given back, and the next request for its points opens it again. 0 lets none sleep for that reason. A collection with residency hot never sleeps.',
  }),
  residencyBudget: setting<number | undefined>({
    group: 'Server',
    parse: wholeNumber(1, 1024 * 1024 * GIB),
    fallback: undefined,
    fallbackText: "half of the engine's part of the memory limit",
    placeholder: 'BYTES',
    about:
      'How many bytes all collections may hold in memory before those sleep that were not used for longest, but for one second.',
  }),
  calibrationPercent: setting({
    group: 'Server',
    parse: wholeNumber(0, 100),
    fallback: 1,
    fallbackText: '1',
    placeholder: 'PERCENT',
    about:
      'The share of the processors that measuring the recall of searches may use, in percent, and never more than one of them. With 0 none is measured, and a formula chooses the width for a target_recall.',
  }),
  metricsCollections: setting({
    group: 'Server',
    parse: wholeNumber(0, 1000),
    fallback: 0,
    fallbackText: '0',
    placeholder: 'N',
    about:
      'How many collections have metrics of their own, with their names as labels: those that were created first. Each takes eleven time series.',
  }),
  authEnabled: setting<boolean | undefined>({
    group: 'Authentication',
    parse: parseSwitch,
    fallback: undefined,
    fallbackText: 'false',
    placeholder: 'true|false',
    about:
      'Whether authentication starts enabled, which needs an admin password or an access token. Once the state has been stored (by this setting or by PATCH /auth/enabled), only PATCH /auth/enabled changes it.',
    isSwitch: true,
  }),
  token: setting<string | undefined>({
    group: 'Authentication',
    parse: parseSecret,
    fallback: undefined,
    fallbackText: 'none',
    placeholder: 'TOKEN',
    about:
      'The access token with which commands call the server of --url; the server itself does not read it.',
    secret: true,
  }),
  sourceToken: setting<string | undefined>({
    group: 'Authentication',
    parse: parseSecret,
    fallback: undefined,
    fallbackText: 'none',
    placeholder: 'TOKEN',
    about:
      'The API key or token with which kithdb migrate reads the server of --from; the server itself does not read it.',
    secret: true,
  }),
  adminPassword: setting<string | undefined>({
    group: 'Authentication',
    parse: parseSecret,
    fallback: undefined,
    fallbackText: 'none',
    placeholder: 'PASSWORD',
    about: 'Creates the admin when there is none yet; ignored afterwards.',
    secret: true,
    onceOnly: true,
  }),
  generateAdminPassword: setting({
    group: 'Authentication',
    parse: parseSwitch,
    fallback: false,
    fallbackText: 'false',
    placeholder: 'true|false',
    about:
      'When authentication is enabled, there is no admin yet, and neither a password nor an access token was given: makes a password and prints it once.',
    isSwitch: true,
  }),
  accessToken: setting<string | undefined>({
    group: 'Authentication',
    parse: parseAccessToken,
    fallback: undefined,
    fallbackText: 'none',
    placeholder: 'TOKEN',
    about:
      'An access token of 24 to 256 printable characters, named initial: a first start makes it and enables authentication, with or without an admin. A later start with another value rotates it. The same value never brings back a token that was deleted or rotated since.',
    secret: true,
  }),
  accessTokenPermission: setting<'read' | 'write' | 'read,write'>({
    group: 'Authentication',
    parse: parseTokenPermission,
    fallback: 'read,write',
    fallbackText: 'read,write',
    placeholder: 'LIST',
    about: 'What that access token may do when it is made: read, write, or both; never admin.',
  }),
  insecureNoAuth: setting({
    group: 'Authentication',
    parse: parseSwitch,
    fallback: false,
    fallbackText: 'false',
    placeholder: 'true|false',
    about:
      'Allows a first start on an address that other machines can reach with authentication disabled: everybody who reaches it can then read and delete everything.',
    isSwitch: true,
  }),
  jwtSecret: setting<string | undefined>({
    group: 'Authentication',
    parse: parseSecret,
    fallback: undefined,
    fallbackText: 'the stored one, or a new one of 256 random bits',
    placeholder: 'SECRET',
    about:
      'Signs the admin JWTs; use at least 32 bytes. The value is stored, and changing it ends every JWT issued before.',
    secret: true,
    aliases: ['SERVICE_JWT_SECRET'],
  }),
  jwtTtlSeconds: setting({
    group: 'Authentication',
    parse: wholeNumber(1, 315_360_000),
    fallback: 3600,
    fallbackText: '3600',
    placeholder: 'SECONDS',
    about: 'How long an admin JWT is valid.',
  }),
  tokenStore: setting<'sqlite3' | 'node-sqlite' | 'memory' | undefined>({
    group: 'Authentication',
    parse: oneOf('sqlite3', 'node-sqlite', 'memory'),
    fallback: undefined,
    fallbackText: 'the first of sqlite3 and node-sqlite that loads',
    placeholder: 'KIND',
    about:
      'What keeps the admin, the access tokens and the authentication setting: sqlite3 or node-sqlite (the same file format), or memory, which forgets everything at exit.',
  }),
  ...CLUSTER_SETTINGS,
  allowFilesystem: setting<readonly string[]>({
    group: 'Data',
    parse: parseFileSystems,
    fallback: [],
    fallbackText: 'none',
    placeholder: 'NAMES',
    about:
      'File systems on which a new data directory may be made although they are not known to keep locks, renames, syncs and maps as a database needs them (nfs, smb, 9p, drvfs, any FUSE), separated by commas. The error of a start names the one.',
  }),
  scrubMbPerSecond: setting({
    group: 'Data',
    parse: wholeNumber(0, 100_000),
    fallback: 20,
    fallbackText: '20',
    placeholder: 'N',
    about:
      'How fast data files are read in the background to find decay, in MB a second (10^6 bytes); 0 turns it off.',
  }),
  scrubIntervalHours: setting({
    group: 'Data',
    parse: wholeNumber(1, 8760),
    fallback: 24,
    fallbackText: '24',
    placeholder: 'N',
    about:
      'Hours from the start, which reads everything too, or from the end of one such pass to the beginning of the next.',
  }),
  logLevel: setting<'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'>({
    group: 'Logging',
    parse: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    fallback: 'info',
    fallbackText: 'info',
    placeholder: 'LEVEL',
    about: 'The least important messages to log: fatal, error, warn, info, debug, trace or silent.',
  }),
  logFormat: setting<'pretty' | 'json' | undefined>({
    group: 'Logging',
    parse: oneOf('pretty', 'json'),
    fallback: undefined,
    fallbackText: 'pretty on a terminal, else json',
    placeholder: 'FORMAT',
    about: 'How the log is written: pretty or json.',
  }),
  slowRequestMs: setting({
    group: 'Logging',
    parse: wholeNumber(0, 3_600_000),
    fallback: 1000,
    fallbackText: '1000',
    placeholder: 'MS',
    about:
      'Requests that take so many milliseconds or more are logged as warnings, searches with what they did; 0 for none.',
  }),
  auditLog: setting<string | undefined>({
    group: 'Logging',
    parse: parseText,
    fallback: undefined,
    fallbackText: 'none',
    placeholder: 'FILE',
    about:
      'A file to which a line of JSON is appended for each login and each action on the admin, on access tokens, collections and snapshots: who, what, when, from where, and the outcome.',
  }),
  maxBodyBytes: setting({
    group: 'Limits',
    parse: wholeNumber(1024, GIB),
    fallback: 64 * MIB,
    fallbackText: '67108864',
    placeholder: 'BYTES',
    about: 'The largest request body (64 MiB unless set); a larger one is a 413.',
  }),
  maxConnections: setting({
    group: 'Limits',
    parse: wholeNumber(16, 1_000_000),
    fallback: 2048,
    fallbackText: '2048',
    placeholder: 'N',
    about:
      'Open connections. Beyond them a connection without a request makes room for a new one: one that never had a request, or the one that is idle for longest, of the address with most of them.',
  }),
  maxPointsPerRequest: limit(10_000, 10_000_000, 'Points or ids in one request.'),
  maxFilterConditions: limit(1024, 1_000_000, 'Conditions in one filter.'),
  // A level is two of a body's 160, and below the deepest there must be room for its query and its filter.
  maxPrefetchDepth: limit(64, 70, 'How deep prefetches may nest.'),
  maxPrefetches: limit(64, 100_000, 'Prefetches in one query, all levels together.'),
  maxResultWindow: limit(100_000, 100_000_000, 'The highest limit + offset of a search or query.'),
  maxNamedVectors: limit(64, 65_536, 'Named vectors of one collection.'),
  maxFieldIndexes: limit(256, 65_536, 'Field indexes of one collection.'),
  maxCollections: limit(65_536, 10_000_000, 'Collections of one server.'),
  maxCursors: limit(1000, 100_000, 'Cursors that are open at a time.'),
  maxSnapshots: limit(
    DEFAULT_SNAPSHOT_LIMITS.maxSnapshots,
    100_000,
    'Snapshots that a server keeps, all collections together.',
  ),
  maxSnapshotBytes: limit(
    DEFAULT_SNAPSHOT_LIMITS.maxSnapshotBytes,
    1024 * 1024 * GIB,
    'The bytes of one snapshot, also of one that is uploaded.',
  ),
} as const;

/** The key of a setting, by which the code knows it. */
export type SettingKey = keyof typeof SETTINGS;

/** The value of each setting. */
export type SettingValues = { -readonly [K in SettingKey]: (typeof SETTINGS)[K]['fallback'] };

/** Every key, in the order of the table. */
export const SETTING_KEYS = Object.keys(SETTINGS) as readonly SettingKey[];

/** A line of the table without the type of its value. */
export function describe(key: SettingKey): Setting<unknown> {
  return SETTINGS[key];
}

/** The environment variable of a setting, such as `KITHDB_MAX_POINTS_PER_REQUEST`; error messages name it. */
export function environmentName(key: SettingKey): string {
  return `KITHDB_${fileKey(key).toUpperCase()}`;
}

/** The flag of a setting without its dashes, such as `data-dir`. Secrets have none. */
export function flagName(key: SettingKey): string {
  return fileKey(key).replaceAll('_', '-');
}

/** Whether a flag, without its dashes, has a path for its value: for this one, or for some where none is given. */
export function isPathFlag(flag: string, value?: string): boolean {
  return SETTING_KEYS.some((key) => {
    const { placeholder, secret, isPath } = describe(key);
    if (secret === true) return flag === `${flagName(key)}-file`;
    if (flag !== flagName(key)) return false;
    if (isPath !== undefined) return value === undefined || isPath(value);
    return ['FILE', 'FOLDER'].includes(placeholder);
  });
}

/** The key of a setting in the file, such as `data_dir`. */
export function fileKey(key: SettingKey): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
