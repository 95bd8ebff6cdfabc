import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isLoopbackHost } from '../auth/loopback';
import { allOrNone } from './all-or-none';
import { hostAndPort, isBucket, type HostAndPort } from './cluster-settings';
import { readPem } from './pem';
import { environmentName, SETTING_KEYS, type SettingKey, type SettingValues } from './settings';
import { reason } from './sources';

/** The certificate that this node shows to others, as PEM text, and the absolute paths of its files. */
export interface ClusterTls {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
}

/** How log servers are reached. */
export interface LogServers {
  /** `host:port` of some of them. */
  readonly servers: readonly string[];
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** The text of a credentials file. */
  readonly credentials: string | undefined;
  /** Paths of PEM files; undefined without TLS. */
  readonly tls:
    | {
        readonly authority: string | undefined;
        readonly certificate: string | undefined;
        readonly key: string | undefined;
      }
    | undefined;
}

/** What a node of a cluster is configured with. */
export interface ClusterConfig {
  readonly name: string;
  readonly log: LogServers;
  readonly listen: HostAndPort;
  /** Where other nodes reach it; where it listens when undefined. */
  readonly advertise: HostAndPort | undefined;
  /** Undefined where the node is reached by its own machine alone. */
  readonly tls: ClusterTls | undefined;
  readonly groups: number;
  /** Copies that the log servers keep of each stream. */
  readonly copies: number;
  /** A folder or `s3://BUCKET/PREFIX`; undefined for none. */
  readonly store: string | undefined;
  readonly storeEndpoint: string | undefined;
  readonly storeRegion: string | undefined;
  /** When shards are saved, and how long their writes and checkpoints are kept. */
  readonly checkpoints: {
    readonly everyRecords: number;
    readonly everyMs: number;
    readonly minAgeMs: number;
  };
}

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::', '0', '']);

/**
 * What the settings say of a cluster; undefined where this server is a node of none. What does not fit together is added to
 * `problems`.
 */
export function readCluster(
  values: SettingValues,
  given: ReadonlySet<SettingKey>,
  problems: string[],
): ClusterConfig | undefined {
  if ((values.cluster !== undefined || values.clusterAlone) && (values.eventLoops ?? 1) > 1) {
    problems.push(
      'KITHDB_EVENT_LOOPS must be 1 in a cluster: a node has one event loop, so leave the setting out',
    );
  }
  // What its node was started with may stay in place.
  if (values.clusterAlone) return undefined;
  if (values.cluster === undefined) {
    const lone = SETTING_KEYS.filter(
      (key) => key !== 'clusterAlone' && /^(?:cluster[A-Z]|nats)/.test(key) && given.has(key),
    );
    if (lone.length > 0) {
      const names = lone.map(environmentName).join(', ');
      problems.push(`${names}: of use for a node of a cluster only, whose log servers KITHDB_CLUSTER names`);
    }
    return undefined;
  }
  const { listen, advertise } = addressesOf(values, problems);
  const tls = tlsOf(values, problems);
  if (tls === undefined && problems.length === 0) requireLoopback(values, { listen, advertise }, problems);
  const { clusterStoreEndpoint: storeEndpoint, clusterStoreRegion: storeRegion } = values;
  const store = storeOf(values, problems);
  return Object.freeze({
    ...{ name: values.clusterName, log: logServersOf(values, problems), listen, advertise, tls },
    ...{ groups: values.clusterLogGroups, copies: values.clusterLogCopies },
    ...{ store, storeEndpoint, storeRegion, checkpoints: checkpointsOf(values) },
  });
}

function addressesOf(
  { clusterListen, clusterAdvertise }: SettingValues,
  problems: string[],
): Pick<ClusterConfig, 'listen' | 'advertise'> {
  const listen = hostAndPort(clusterListen) ?? { host: clusterListen, port: 0 };
  const advertise = clusterAdvertise === undefined ? undefined : hostAndPort(clusterAdvertise);
  if (advertise === undefined && EVERY_ADDRESS.has(listen.host)) {
    problems.push(
      `KITHDB_CLUSTER_LISTEN is ${clusterListen}, which is every address of this machine: KITHDB_CLUSTER_ADVERTISE has to say by which other nodes reach it`,
    );
  }
  if (advertise !== undefined && EVERY_ADDRESS.has(advertise.host)) {
    problems.push(
      `KITHDB_CLUSTER_ADVERTISE must be an address by which other nodes reach this one, not ${advertise.host}`,
    );
  }
  return { listen, advertise };
}

function tlsOf(values: SettingValues, problems: string[]): ClusterTls | undefined {
  const keys = ['clusterTlsCert', 'clusterTlsKey', 'clusterTlsCa'] as const;
  const paths = allOrNone(values, keys, problems);
  if (paths === undefined) return undefined;
  const [cert = '', key = '', ca = ''] = keys.map((name, at) =>
    readPem(environmentName(name), paths[at] ?? '', problems),
  );
  const [certFile = '', keyFile = '', caFile = ''] = paths.map((path) => resolve(path));
  return { cert, key, ca, certFile, keyFile, caFile };
}

/** Without certificates a node is there for its own machine alone. */
function requireLoopback(
  values: SettingValues,
  { listen, advertise }: Pick<ClusterConfig, 'listen' | 'advertise'>,
  problems: string[],
): void {
  const needed = 'KITHDB_CLUSTER_TLS_CERT, KITHDB_CLUSTER_TLS_KEY and KITHDB_CLUSTER_TLS_CA are needed';
  if (!isLoopbackHost(listen.host)) {
    problems.push(
      `KITHDB_CLUSTER_LISTEN is ${values.clusterListen}, which other machines may reach: ${needed}`,
    );
  } else if (advertise !== undefined && !isLoopbackHost(advertise.host)) {
    problems.push(
      `KITHDB_CLUSTER_ADVERTISE is ${values.clusterAdvertise ?? ''}, which is another machine's address: ${needed}`,
    );
  }
}

function logServersOf(values: SettingValues, problems: string[]): LogServers {
  const { natsUser: user, natsPassword: password, natsCredentials, natsTlsCa, cluster = [] } = values;
  allOrNone(values, ['natsUser', 'natsPassword'], problems);
  if (natsCredentials !== undefined && user !== undefined) {
    problems.push('KITHDB_NATS_CREDENTIALS and KITHDB_NATS_USER are two ways to log in: give one');
  }
  const pair = allOrNone(values, ['natsTlsCert', 'natsTlsKey'], problems);
  for (const [key, path] of [['natsTlsCa', natsTlsCa] as const, ['natsTlsCert', pair?.[0]] as const]) {
    if (path !== undefined) readPem(environmentName(key), path, problems);
  }
  const isTls =
    natsTlsCa !== undefined || pair !== undefined || cluster.some((url) => url.startsWith('tls:'));
  return {
    servers: cluster.map((url) => url.slice(url.indexOf('//') + 2)),
    ...{ user, password },
    credentials: natsCredentials === undefined ? undefined : readCredentials(natsCredentials, problems),
    tls: isTls ? { authority: natsTlsCa, certificate: pair?.[0], key: pair?.[1] } : undefined,
  };
}

function readCredentials(path: string, problems: string[]): string | undefined {
  try {
    const text = readFileSync(path, 'utf8');
    if (text.includes('-----BEGIN NATS USER JWT-----') && text.includes('-----BEGIN USER NKEY SEED-----')) {
      return text;
    }
    problems.push(`KITHDB_NATS_CREDENTIALS must name a credentials file of NATS; ${path} is none`);
  } catch (error) {
    problems.push(`KITHDB_NATS_CREDENTIALS: ${path} cannot be read (${reason(error)})`);
  }
  return undefined;
}

function checkpointsOf(values: SettingValues): ClusterConfig['checkpoints'] {
  return {
    everyRecords: values.clusterCheckpointRecords,
    everyMs: values.clusterCheckpointMinutes * 60_000,
    minAgeMs: values.clusterRetentionHours * 3_600_000,
  };
}

function storeOf(
  { clusterStore, clusterStoreEndpoint, clusterStoreRegion }: SettingValues,
  problems: string[],
): string | undefined {
  const inBucket = clusterStore !== undefined && isBucket(clusterStore);
  if (inBucket && !/^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:\/.*)?$/.test(clusterStore)) {
    problems.push(`KITHDB_CLUSTER_STORE must be a folder or s3://BUCKET/PREFIX, not ${clusterStore}`);
  }
  if (!inBucket && (clusterStoreEndpoint ?? clusterStoreRegion) !== undefined) {
    const key = clusterStoreEndpoint === undefined ? 'clusterStoreRegion' : 'clusterStoreEndpoint';
    problems.push(`${environmentName(key)} needs a KITHDB_CLUSTER_STORE that begins with s3://`);
  }
  if (clusterStoreEndpoint !== undefined && !/^https?:\/\/[^/]/.test(clusterStoreEndpoint)) {
    problems.push(
      `KITHDB_CLUSTER_STORE_ENDPOINT must be a URL such as https://s3.example.com, not ${clusterStoreEndpoint}`,
    );
  }
  return clusterStore === undefined || inBucket ? clusterStore : resolve(clusterStore);
}
