import {
  BadValue,
  parseSecret,
  parseSwitch,
  parseText,
  wholeNumber,
  type RawValue,
  type Setting,
} from './setting';

const NATS_PORT = 4222;
const MAX_SERVERS = 32;

/** A host and a port. */
export interface HostAndPort {
  /** A name or an address; an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Reads `HOST:PORT` or `[IPv6]:PORT`; undefined for something else. */
export function hostAndPort(text: string, port?: number): HostAndPort | undefined {
  const [, six, other, given] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = six ?? other;
  const at = given === undefined ? port : Number(given);
  return host === undefined || at === undefined || at > 65_535 ? undefined : { host, port: at };
}

/** An address that `hostAndPort` reads. */
function parseAddress(lowestPort: number): (raw: RawValue) => string {
  return (raw) => {
    const text = String(raw).trim();
    if ((hostAndPort(text)?.port ?? -1) < lowestPort) {
      throw new BadValue('an address with a port such as 10.0.0.1:6364 or [2001:db8::1]:6364');
    }
    return text;
  };
}

/** URLs of log servers, each with its port: separated by commas, or a list in the file. */
function parseServers(raw: RawValue): readonly string[] {
  const listed = Array.isArray(raw) ? (raw as readonly string[]) : String(raw).split(',');
  const urls = listed.map((text) => text.trim()).filter((text) => text !== '');
  const servers = urls.map(serverUrl).filter((url) => url !== undefined);
  if (urls.length === 0 || urls.length > MAX_SERVERS || servers.length < urls.length) {
    throw new BadValue(
      `1 to ${MAX_SERVERS} URLs of NATS servers such as nats://log-1:4222,nats://log-2:4222, without a user or a path`,
    );
  }
  return servers;
}

function serverUrl(text: string): string | undefined {
  const [, scheme, rest = ''] = /^(nats|tls):\/\/([^/]+)\/?$/.exec(text) ?? [];
  const found = scheme === undefined ? undefined : hostAndPort(rest, NATS_PORT);
  if (scheme === undefined || found === undefined || found.port === 0) return undefined;
  const host = found.host.includes(':') ? `[${found.host}]` : found.host;
  return `${scheme}://${host}:${found.port}`;
}

/** A part of subjects and of streams, and the name in certificates. */
function parseName(raw: RawValue): string {
  if (typeof raw !== 'string' || !/^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/.test(raw)) {
    throw new BadValue(
      '1 to 32 lower-case letters, digits and hyphens, of which the first and the last are no hyphen',
    );
  }
  return raw;
}

/** A path of a PEM file, or of another one. */
function file(about: string): Setting<string | undefined> {
  return text('FILE', about, 'none');
}

function text(placeholder: string, about: string, fallbackText: string): Setting<string | undefined> {
  return { group: 'Cluster', parse: parseText, fallback: undefined, fallbackText, placeholder, about };
}

const servers: Setting<readonly string[] | undefined> = {
  group: 'Cluster',
  parse: parseServers,
  fallback: undefined,
  fallbackText: 'none: one server by itself',
  placeholder: 'URLS',
  about:
    'The log servers (NATS JetStream) of the cluster that this server is a node of, such as nats://log-1:4222,nats://log-2:4222; some of them do. With tls:// in place of nats:// the connection is encrypted. The package @kithdb/cluster has to be installed.',
};

const name: Setting<string> = {
  group: 'Cluster',
  parse: parseName,
  fallback: 'kithdb',
  fallbackText: 'kithdb',
  placeholder: 'NAME',
  about:
    'The name of the cluster, the same on all of its nodes; each of their certificates has it as its common name or as a DNS name.',
};

const listen: Setting<string> = {
  group: 'Cluster',
  parse: parseAddress(0),
  fallback: '127.0.0.1:6364',
  fallbackText: '127.0.0.1:6364',
  placeholder: 'HOST:PORT',
  about:
    'Where this node listens for other nodes, beside the address for clients. Where other machines reach it, certificate, key and authority have to be given. The port 0 picks a free one.',
};

const advertise: Setting<string | undefined> = {
  group: 'Cluster',
  parse: parseAddress(1),
  fallback: undefined,
  fallbackText: 'where it listens',
  placeholder: 'HOST:PORT',
  about:
    'The address by which other nodes reach this one; needed where it listens on every address of the machine.',
};

/** Whether a store of checkpoints is a bucket; otherwise it is a folder. */
export function isBucket(store: string): boolean {
  return store.startsWith('s3://');
}

const store: Setting<string | undefined> = {
  ...text(
    'PLACE',
    'Where the nodes keep checkpoints, of which new replicas are made: a folder that all of them have mounted, or s3://BUCKET/PREFIX. Without one, new replicas read all writes from the log, which is never cut.',
    'none',
  ),
  isPath: (value) => !isBucket(value),
};

const groups: Setting<number> = {
  group: 'Cluster',
  parse: wholeNumber(1, 128),
  fallback: 16,
  fallbackText: '16',
  placeholder: 'N',
  about:
    'Log groups, each a stream of its own: the writes of a collection are in one of them. The same on all nodes, and for the life of the cluster.',
};

const copies: Setting<number> = {
  group: 'Cluster',
  parse: wholeNumber(1, 5),
  fallback: 3,
  fallbackText: '3',
  placeholder: 'N',
  about: 'How many log servers keep each stream when it is made; with one log server it has to be 1.',
};

const checkpointRecords: Setting<number> = {
  group: 'Cluster',
  parse: wholeNumber(1, 1_000_000_000),
  fallback: 100_000,
  fallbackText: '100000',
  placeholder: 'N',
  about:
    'A shard is saved into the store of checkpoints when it has taken so many writes since its last one.',
};

const checkpointMinutes: Setting<number> = {
  group: 'Cluster',
  parse: wholeNumber(1, 7 * 24 * 60),
  fallback: 60,
  fallbackText: '60',
  placeholder: 'N',
  about:
    'A shard with fewer new writes is saved so many minutes after its last checkpoint. At the same interval records that checkpoints have are removed from the streams of the log servers.',
};

const retentionHours: Setting<number> = {
  group: 'Cluster',
  parse: wholeNumber(1, 365 * 24),
  fallback: 24,
  fallbackText: '24',
  placeholder: 'N',
  about:
    'For how many hours writes stay in the streams of the log servers, and checkpoints in their store, at least: a node that is away for less needs no checkpoint when it comes back.',
};

const password: Setting<string | undefined> = {
  group: 'Cluster',
  parse: parseSecret,
  fallback: undefined,
  fallbackText: 'none',
  placeholder: 'PASSWORD',
  about: 'The password of that user.',
  secret: true,
};

const alone: Setting<boolean> = {
  group: 'Cluster',
  parse: parseSwitch,
  fallback: false,
  fallbackText: 'false',
  placeholder: 'true|false',
  about:
    'Serves the data directory of a node that is stopped without its cluster, read-only: what the node had when it stopped. Nothing in the directory is changed; the other settings of the cluster are not used. The package @kithdb/cluster has to be installed.',
  isSwitch: true,
};

/** The settings of a node of a cluster: lines of the one table. */
export const CLUSTER_SETTINGS = {
  cluster: servers,
  clusterName: name,
  clusterListen: listen,
  clusterAdvertise: advertise,
  clusterTlsCert: file(
    'The PEM file of the certificate chain that this node shows to other nodes. Certificate, key and authority are read again when they change.',
  ),
  clusterTlsKey: file('The PEM file of the private key that belongs to that certificate.'),
  clusterTlsCa: file(
    "The PEM file of the authority that signs the certificates of the cluster's nodes; it should sign nothing else.",
  ),
  clusterAlone: alone,
  clusterLogGroups: groups,
  clusterLogCopies: copies,
  clusterStore: store,
  clusterStoreEndpoint: text('URL', 'The S3 server of that bucket, where it is not that of Amazon.', 'none'),
  clusterStoreRegion: text('REGION', 'The region of that bucket.', 'as the AWS SDK finds it'),
  clusterCheckpointRecords: checkpointRecords,
  clusterCheckpointMinutes: checkpointMinutes,
  clusterRetentionHours: retentionHours,
  natsUser: text('NAME', 'The user of the log servers.', 'none'),
  natsPassword: password,
  natsCredentials: file(
    'A credentials file of NATS (.creds, with a JWT and its key), in place of user and password.',
  ),
  natsTlsCa: file(
    "The PEM file of the authority of the log servers' certificates; those of the system unless given. It turns TLS on, as the next two do.",
  ),
  natsTlsCert: file('The PEM file of the certificate for log servers that verify their clients.'),
  natsTlsKey: file('The PEM file of the private key that belongs to that certificate.'),
} as const;
