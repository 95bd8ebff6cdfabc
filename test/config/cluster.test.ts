import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, loadConfig, readFlags, type Config } from '../../src/config';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-config-cluster-'));
  for (const name of ['cert', 'key', 'ca']) {
    writeFileSync(join(folder, `${name}.pem`), `-----BEGIN ${name.toUpperCase()}-----\n`);
  }
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function load(env: Record<string, string>): Config {
  return loadConfig({ commandLine: readFlags([]), env, terminal: false });
}

function problems(env: Record<string, string>): readonly string[] {
  try {
    load(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

const CLUSTER = { KITHDB_CLUSTER: 'nats://127.0.0.1:4222' };

function tls(): Record<string, string> {
  return {
    KITHDB_CLUSTER_TLS_CERT: join(folder, 'cert.pem'),
    KITHDB_CLUSTER_TLS_KEY: join(folder, 'key.pem'),
    KITHDB_CLUSTER_TLS_CA: join(folder, 'ca.pem'),
  };
}

describe('settings of a cluster', () => {
  it('are none for a server by itself', () => {
    expect(load({}).cluster).toBeUndefined();
  });

  it('are not used where the directory of a node is served alone', () => {
    const { cluster, clusterAlone } = load({
      ...{ KITHDB_CLUSTER_ALONE: 'true', KITHDB_CLUSTER: 'nats://log-1', KITHDB_CLUSTER_NAME: 'birds' },
      ...{ KITHDB_CLUSTER_TLS_CERT: '/none', KITHDB_NATS_USER: 'kithdb' },
    });
    expect({ cluster, clusterAlone }).toEqual({ cluster: undefined, clusterAlone: true });
    expect(load({}).clusterAlone).toBe(false);
  });

  it('are few for nodes of one machine', () => {
    expect(load({ KITHDB_CLUSTER: ' nats://log-1, nats://[::1]:4223/ ' }).cluster).toEqual({
      name: 'kithdb',
      log: { servers: ['log-1:4222', '[::1]:4223'] },
      listen: { host: '127.0.0.1', port: 6364 },
      groups: 16,
      copies: 3,
      checkpoints: { everyRecords: 100_000, everyMs: 3_600_000, minAgeMs: 86_400_000 },
    });
  });

  it('have certificates where other machines reach the node', () => {
    const env = {
      ...{ ...CLUSTER, ...tls(), KITHDB_CLUSTER_NAME: 'birds-1' },
      KITHDB_CLUSTER_LISTEN: '0.0.0.0:7000',
      KITHDB_CLUSTER_ADVERTISE: 'node-1.example.com:7000',
      KITHDB_CLUSTER_STORE: 's3://bucket/prefix',
      KITHDB_CLUSTER_STORE_ENDPOINT: 'http://minio:9000',
      KITHDB_CLUSTER_STORE_REGION: 'eu-1',
      KITHDB_CLUSTER_CHECKPOINT_RECORDS: '5000',
      KITHDB_CLUSTER_CHECKPOINT_MINUTES: '10',
      KITHDB_CLUSTER_RETENTION_HOURS: '48',
      KITHDB_NATS_USER: 'kithdb',
      KITHDB_NATS_PASSWORD: 'hidden',
      KITHDB_NATS_TLS_CA: join(folder, 'ca.pem'),
    };
    const { cluster, settings } = load(env);
    expect(cluster).toMatchObject({
      checkpoints: { everyRecords: 5000, everyMs: 600_000, minAgeMs: 172_800_000 },
      name: 'birds-1',
      listen: { host: '0.0.0.0', port: 7000 },
      advertise: { host: 'node-1.example.com', port: 7000 },
      tls: { certFile: join(folder, 'cert.pem'), ca: '-----BEGIN CA-----\n' },
      log: { user: 'kithdb', password: 'hidden', tls: { authority: join(folder, 'ca.pem') } },
      ...{ store: 's3://bucket/prefix', storeEndpoint: 'http://minio:9000', storeRegion: 'eu-1' },
    });
    expect(settings.find(({ name }) => name === 'nats_password')).toMatchObject({ value: null });
    expect(settings.find(({ name }) => name === 'cluster')).toMatchObject({
      value: ['nats://127.0.0.1:4222'],
      from: 'KITHDB_CLUSTER',
    });
  });

  it('turn TLS of the log servers on by their URL', () => {
    expect(load({ KITHDB_CLUSTER: 'tls://log-1,tls://log-2' }).cluster?.log.tls).toEqual({});
  });

  it.each([
    [{ KITHDB_CLUSTER: 'log-1:4222' }, /KITHDB_CLUSTER must be 1 to 32 URLs of NATS servers/],
    [{ KITHDB_CLUSTER: 'nats://user:secret@log-1' }, /without a user or a path/],
    [{ KITHDB_CLUSTER: ',' }, /1 to 32 URLs/],
    [{ KITHDB_CLUSTER_NAME: 'birds' }, /^KITHDB_CLUSTER_NAME: of use for a node of a cluster only/],
    [{ ...CLUSTER, KITHDB_CLUSTER_NAME: 'Birds' }, /lower-case letters/],
    [{ ...CLUSTER, KITHDB_EVENT_LOOPS: '2' }, /KITHDB_EVENT_LOOPS must be 1 in a cluster/],
    [{ KITHDB_CLUSTER_ALONE: '1', KITHDB_EVENT_LOOPS: '2' }, /KITHDB_EVENT_LOOPS must be 1/],
    [{ ...CLUSTER, KITHDB_CLUSTER_LISTEN: '10.0.0.1:6364' }, /which other machines may reach: .*_TLS_CERT/],
    [{ ...CLUSTER, KITHDB_CLUSTER_LISTEN: '10.0.0.1' }, /an address with a port/],
    [{ ...CLUSTER, KITHDB_CLUSTER_LISTEN: '0.0.0.0:6364' }, /KITHDB_CLUSTER_ADVERTISE has to say/],
    [{ ...CLUSTER, KITHDB_CLUSTER_ADVERTISE: '10.0.0.1:6364' }, /another machine's address: .*_TLS_CERT/],
    [{ ...CLUSTER, KITHDB_CLUSTER_ADVERTISE: '0.0.0.0:6364' }, /by which other nodes reach this one/],
    [{ ...CLUSTER, KITHDB_CLUSTER_ADVERTISE: '127.0.0.1:0' }, /an address with a port/],
    [{ ...CLUSTER, KITHDB_NATS_USER: 'kithdb' }, /KITHDB_NATS_USER needs KITHDB_NATS_PASSWORD too/],
    [{ ...CLUSTER, KITHDB_NATS_CREDENTIALS: '/none' }, /\/none cannot be read \(no such file\)/],
    [{ ...CLUSTER, KITHDB_CLUSTER_STORE: 's3://X' }, /must be a folder or s3:\/\/BUCKET/],
    [{ ...CLUSTER, KITHDB_CLUSTER_STORE_REGION: 'eu-1' }, /needs a KITHDB_CLUSTER_STORE that begins/],
  ])('refuse %j', (env: Record<string, string>, problem) => {
    const found = problems(env);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(problem);
  });

  it('refuse a part of what belongs together', () => {
    const { KITHDB_CLUSTER_TLS_CERT = '', KITHDB_CLUSTER_TLS_KEY = '' } = tls();
    expect(problems({ ...CLUSTER, KITHDB_CLUSTER_TLS_CERT, KITHDB_CLUSTER_TLS_KEY })).toEqual([
      'KITHDB_CLUSTER_TLS_CERT and KITHDB_CLUSTER_TLS_KEY needs KITHDB_CLUSTER_TLS_CA too',
    ]);
    const file = join(folder, 'cert.pem');
    expect(problems({ ...CLUSTER, KITHDB_NATS_CREDENTIALS: file })[0]).toMatch(/credentials file of NATS/);
  });
});
