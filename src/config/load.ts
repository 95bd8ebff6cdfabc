import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { EngineLimits } from '../engine/types';
import type { DialectName } from '../http/dialect';
import type { McpMode } from '../mcp-host/mode';
import type { TextModel } from '../models/model';
import { allOrNone } from './all-or-none';
import { readCluster, type ClusterConfig } from './cluster';
import { readModels } from './models';
import { readPem } from './pem';
import { settingsInForce, type SettingInForce } from './in-force';
import { BadValue } from './setting';
import { describe, SETTING_KEYS, SETTINGS, type SettingKey, type SettingValues } from './settings';
import type { CommandLine } from './command-line';
import { readEnvironment, readFile, reason, type Given, type Source } from './sources';

/** Everything the server needs to know before it starts; frozen. */
export interface Config {
  /** The address to listen on, as given. */
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Absolute. */
  readonly dataDir: string;
  /** Certificate chain and key as PEM text, and the absolute paths of their files; absent without TLS. */
  readonly tls?: {
    readonly cert: string;
    readonly key: string;
    readonly certFile: string;
    readonly keyFile: string;
  };
  readonly corsOrigins: readonly string[];
  /** Blocks such as `10.0.0.0/8`. */
  readonly trustedProxies: readonly string[];
  readonly dialect: DialectName;
  readonly mcp: McpMode;
  /** The models that make vectors of texts, beside those that are built in. */
  readonly models: readonly TextModel[];
  /** Whether the web console is served. */
  readonly console: boolean;
  readonly searchThreads: number;
  /** How many accept connections; undefined for as many as suit the machine. */
  readonly eventLoops: number | undefined;
  /** In bytes; undefined for that of the container or the machine. */
  readonly memoryLimit: number | undefined;
  /** Seconds without a request after which a collection sleeps; 0 for never. */
  readonly residencyIdleSeconds: number;
  /** Bytes of all that are awake above which the longest idle sleep; undefined for half of the engine's memory. */
  readonly residencyBudget: number | undefined;
  /** Share of the processors that measuring recall may use, from 0 to 100. */
  readonly calibrationPercent: number;
  /** Collections with metrics of their own. */
  readonly metricsCollections: number;
  /** What was asked for, undefined when nothing was; the state itself is the authentication service's. */
  readonly authEnabled: boolean | undefined;
  /** The access token with which commands call a server. */
  readonly token: string | undefined;
  /** The credential with which `kithdb migrate` reads another server. */
  readonly sourceToken: string | undefined;
  readonly adminPassword: string | undefined;
  /** Why the file of the admin password cannot be read: an error only for what needs the password. */
  readonly adminPasswordProblem: string | undefined;
  readonly generateAdminPassword: boolean;
  /** The raw access token of a first start. */
  readonly accessToken: string | undefined;
  /** In canonical order. */
  readonly accessTokenPermission: SettingValues['accessTokenPermission'];
  readonly insecureNoAuth: boolean;
  readonly jwtSecret: string | undefined;
  readonly jwtTtlSeconds: number;
  /** Undefined takes the first that loads, memory excepted. */
  readonly tokenStore: SettingValues['tokenStore'];
  /** The name of the cluster that a node would be of. */
  readonly clusterName: string;
  /** Undefined for a server by itself. */
  readonly cluster: ClusterConfig | undefined;
  /** Whether the data directory is that of a node, which is served without its cluster. */
  readonly clusterAlone: boolean;
  /** Names of file systems that are allowed for new data directories. */
  readonly allowFilesystem: readonly string[];
  /** 0 for no scrub. */
  readonly scrubMbPerSecond: number;
  readonly scrubIntervalHours: number;
  readonly logLevel: SettingValues['logLevel'];
  readonly logFormat: 'pretty' | 'json';
  /** In milliseconds; undefined where slow requests are not logged. */
  readonly slowRequestMs: number | undefined;
  /** Path of the file; undefined where there is none. */
  readonly auditLog: string | undefined;
  readonly maxBodyBytes: number;
  readonly maxConnections: number;
  readonly maxSnapshots: number;
  readonly maxSnapshotBytes: number;
  /** The limits of C2.7 that the engine keeps. */
  readonly limits: EngineLimits;
  /** All of these as they are shown, with where each comes from. */
  readonly settings: readonly SettingInForce[];
}

/** Where settings come from. */
export interface ConfigSources {
  readonly commandLine: CommandLine;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether the log goes to a terminal. */
  readonly terminal: boolean;
  /** The settings that are used, all when absent: files that others name are not read. */
  readonly only?: readonly SettingKey[] | undefined;
}

/** Wrong settings: all of them at once, one sentence each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

/**
 * The configuration from all sources: a flag beats the environment, which beats the file.
 * @throws ConfigError naming every unknown name and every bad value.
 */
export function loadConfig({ commandLine, env, terminal, only }: ConfigSources): Config {
  const environment = readEnvironment(env);
  const problems = [...commandLine.problems, ...environment.problems];
  const unread: string[] = [];
  const isUsed = (key: SettingKey): boolean => only?.includes(key) ?? true;
  const sources: Source[] = [commandLine.settings, environment.settings];

  // The problems of this setting are reported below, with those of the others.
  const origins = new Map<SettingKey, string>();
  const path = understand('config', sources, { problems: [], unread, origins, isUsed });
  if (path !== undefined) {
    const file = readFile(path);
    problems.push(...file.problems);
    sources.push(file.settings);
  }

  const values = Object.fromEntries(
    SETTING_KEYS.map((key) => [key, understand(key, sources, { problems, unread, origins, isUsed })]),
  ) as SettingValues;
  if (values.accessToken !== undefined && values.authEnabled === false) {
    problems.push(
      'KITHDB_ACCESS_TOKEN enables authentication, and KITHDB_AUTH_ENABLED is false: give one of them',
    );
  }
  const tls = isUsed('tlsCert') ? readTls(values, problems) : undefined;
  const cluster = isUsed('cluster') ? readCluster(values, new Set(origins.keys()), problems) : undefined;
  const models = isUsed('models') ? readModels(values.models, problems) : [];
  if (problems.length > 0) {
    throw new ConfigError(problems);
  }
  const settings = settingsInForce(values, origins);
  return assemble(values, { tls, cluster, models, terminal, adminPasswordProblem: unread[0], settings });
}

/** What reading the settings finds besides their values. */
interface Findings {
  readonly problems: string[];
  /** Files that cannot be read of settings that may not be needed. */
  readonly unread: string[];
  /** The place of each setting that is given. */
  readonly origins: Map<SettingKey, string>;
  readonly isUsed: (key: SettingKey) => boolean;
}

/** The value of one setting: the first source that gives it decides, and the others are not read. */
function understand<K extends SettingKey>(
  key: K,
  sources: readonly Source[],
  { problems, unread, origins, isUsed }: Findings,
): SettingValues[K] {
  const given = sources.find((source) => source.has(key))?.get(key) ?? [];
  const values = new Map<unknown, string>();
  for (const one of given) {
    if (one.isSecretFile && !isUsed(key)) {
      continue;
    }
    try {
      values.set(describe(key).parse(one.isSecretFile ? readSecret(one) : one.raw), one.origin);
    } catch (error) {
      if (!(error instanceof BadValue)) {
        throw error;
      }
      const mayWait = error instanceof Unreadable && describe(key).onceOnly === true;
      (mayWait ? unread : problems).push(describeBadValue(key, one, error));
    }
  }
  if (values.size > 1) {
    problems.push(
      `${[...values.values()].join(' and ')} are the same setting with different values: give one`,
    );
  }
  const [[value, origin] = []] = values;
  if (origin !== undefined) {
    origins.set(key, origin);
  }
  return (values.size === 0 ? SETTINGS[key].fallback : value) as SettingValues[K];
}

function describeBadValue(key: SettingKey, given: Given, error: BadValue): string {
  if (given.isSecretFile) {
    return error instanceof Unreadable
      ? `${given.origin} must name a readable file: ${error.message}`
      : `${given.origin} must name a file that holds ${error.message}`;
  }
  const shown = describe(key).secret === true ? '' : `, not ${JSON.stringify(given.raw)}`;
  return `${given.origin} must be ${error.message}${shown}`;
}

/** Why a file of a secret cannot be read. */
class Unreadable extends BadValue {}

/** A secret from a file, less the one newline that editors put at the end (C3.2). */
function readSecret({ raw }: Given): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(String(raw));
  } catch (error) {
    throw new Unreadable(`${String(raw)} cannot be read (${reason(error)})`);
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Unreadable(`${String(raw)} is not UTF-8 text`);
  }
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '') {
    throw new Unreadable(`${String(raw)} is empty`);
  }
  return secret;
}

function readTls(values: SettingValues, problems: string[]): Config['tls'] {
  const paths = allOrNone(values, ['tlsCert', 'tlsKey'], problems);
  if (paths === undefined) return undefined;
  const [tlsCert = '', tlsKey = ''] = paths;
  return {
    cert: readPem('KITHDB_TLS_CERT', tlsCert, problems),
    key: readPem('KITHDB_TLS_KEY', tlsKey, problems),
    certFile: resolve(tlsCert),
    keyFile: resolve(tlsKey),
  };
}

/** What a configuration holds beside the values of its settings. */
interface Surroundings {
  readonly tls: Config['tls'] | undefined;
  readonly cluster: ClusterConfig | undefined;
  readonly models: readonly TextModel[];
  readonly terminal: boolean;
  readonly adminPasswordProblem: string | undefined;
  readonly settings: readonly SettingInForce[];
}

function assemble(
  values: SettingValues,
  { tls, cluster, models, terminal, adminPasswordProblem, settings }: Surroundings,
): Config {
  return Object.freeze({
    host: values.host,
    port: values.port,
    dataDir: resolve(values.dataDir),
    ...(tls !== undefined && { tls: Object.freeze(tls) }),
    corsOrigins: Object.freeze(values.corsOrigins),
    trustedProxies: Object.freeze(values.trustedProxies),
    dialect: values.dialect,
    mcp: values.mcp,
    models: Object.freeze(models),
    console: values.console,
    searchThreads: values.searchThreads,
    eventLoops: values.eventLoops,
    memoryLimit: values.memoryLimit,
    residencyIdleSeconds: values.residencyIdleSeconds,
    residencyBudget: values.residencyBudget,
    calibrationPercent: values.calibrationPercent,
    metricsCollections: values.metricsCollections,
    authEnabled: values.authEnabled,
    token: values.token,
    sourceToken: values.sourceToken,
    adminPassword: values.adminPassword,
    adminPasswordProblem,
    generateAdminPassword: values.generateAdminPassword,
    accessToken: values.accessToken,
    accessTokenPermission: values.accessTokenPermission,
    insecureNoAuth: values.insecureNoAuth,
    jwtSecret: values.jwtSecret,
    jwtTtlSeconds: values.jwtTtlSeconds,
    tokenStore: values.tokenStore,
    clusterName: values.clusterName,
    cluster,
    clusterAlone: values.clusterAlone,
    allowFilesystem: Object.freeze(values.allowFilesystem),
    scrubMbPerSecond: values.scrubMbPerSecond,
    scrubIntervalHours: values.scrubIntervalHours,
    logLevel: values.logLevel,
    logFormat: values.logFormat ?? (terminal ? 'pretty' : 'json'),
    slowRequestMs: values.slowRequestMs === 0 ? undefined : values.slowRequestMs,
    auditLog: values.auditLog,
    maxBodyBytes: values.maxBodyBytes,
    maxConnections: values.maxConnections,
    maxSnapshots: values.maxSnapshots,
    maxSnapshotBytes: values.maxSnapshotBytes,
    settings: Object.freeze(settings),
    limits: limitsOf(values),
  });
}

/** The limits of requests. */
function limitsOf(values: SettingValues): Config['limits'] {
  return Object.freeze({
    maxPointsPerRequest: values.maxPointsPerRequest,
    maxFilterConditions: values.maxFilterConditions,
    maxPrefetchDepth: values.maxPrefetchDepth,
    maxPrefetches: values.maxPrefetches,
    maxResultWindow: values.maxResultWindow,
    maxNamedVectors: values.maxNamedVectors,
    maxFieldIndexes: values.maxFieldIndexes,
    maxCollections: values.maxCollections,
    maxCursors: values.maxCursors,
  });
}
