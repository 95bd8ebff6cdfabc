import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, TimeoutError, UnavailableError } from '../../src';
import { startServer, type TemporaryServer } from '../../src/temporary-server';
import { describeUnless } from '../missing';
import { until } from '../until';
import { Authority } from './certificates';
import { askHttp as ask } from './http-ask';
import { isNoNats, NatsServers } from './nats-server';

function points(from: number, count: number): object {
  return {
    points: Array.from({ length: count }, (_, at) => ({ id: from + at, vector: [from + at, 1] })),
  };
}

const BIRDS = {
  vectors: { size: 2, distance: 'Dot' },
  ...{ shard_number: 3, replication_factor: 2, write_consistency_factor: 2 },
};
const EXACT = { exact: true };

describeUnless(isNoNats)('servers of a cluster', () => {
  let folder: string;
  let log: NatsServers;
  let authority: Authority;
  let servers: TemporaryServer[] = [];

  /** The settings of a node, with a certificate of its own. */
  function settings(number: number, cluster = 'birds'): Record<string, string> {
    const { cert, key, ca } = authority.sign('birds', `/CN=node-${number}`, `DNS:${cluster}`);
    const file = (kind: string, text: string): string => {
      const path = join(folder, `${number}-${kind}.pem`);
      writeFileSync(path, text);
      return path;
    };
    return {
      ...log.nodeSettings('birds'),
      KITHDB_CLUSTER_STORE: join(folder, 'store'),
      KITHDB_CLUSTER_TLS_CERT: file('cert', cert),
      KITHDB_CLUSTER_TLS_KEY: file('key', key),
      KITHDB_CLUSTER_TLS_CA: file('ca', ca),
      KITHDB_DIALECT: 'qdrant',
      KITHDB_TOKEN_STORE: 'memory',
      KITHDB_CORS_ORIGINS: 'https://app.example',
    };
  }

  function start(number: number): Promise<TemporaryServer> {
    return startServer({ dataDir: join(folder, `node-${number}`), settings: settings(number) });
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kithdb-cluster-http-'));
    authority = new Authority(folder, 'authority');
    log = await NatsServers.start(1);
    servers = await Promise.all([0, 1, 2].map(start));
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await log.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('are ready when they have joined, and know one another', async () => {
    for (const server of servers) {
      expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
      await until(async () => {
        const { result } = await ask(server, 'GET', '/cluster');
        const { peers } = result as { readonly peers: Record<string, { readonly state: string }> };
        return Object.values(peers).filter(({ state }) => state === 'live').length === 3;
      });
    }
    const { result } = await ask(servers[0], 'GET', '/cluster');
    const { peers, peer_id: own } = result as { peers: object; peer_id: number };
    expect(result).toMatchObject({ status: 'enabled', raft_info: { is_voter: true } });
    expect(Object.keys(peers)).toContain(String(own));
    expect((await ask(servers[1], 'GET', '/cluster/telemetry')).result).toMatchObject({
      cluster: { enabled: true, number_of_peers: 3 },
    });
  });

  it('C30.2, C30.4 take a collection at one, writes at the next, and read them at the third', async () => {
    expect(await ask(servers[0], 'PUT', '/collections/birds', BIRDS)).toMatchObject({ result: true });
    const written = await ask(servers[1], 'PUT', '/collections/birds/points', points(0, 100));
    expect(written).toMatchObject({ status: 200, result: { status: 'completed' } });
    const position = written.headers.get('kithdb-position') ?? '';
    expect(position).toMatch(/^\d+:\d+:0\.1\.2$/);
    const after = { 'KithDB-Position': position };
    const counted = await ask(servers[2], 'POST', '/collections/birds/points/count', EXACT, after);
    expect(counted.result).toEqual({ count: 100 });
    const query = { query: [1, 0], limit: 2 };
    expect(
      (await ask(servers[0], 'POST', '/collections/birds/points/query', query, after)).result,
    ).toMatchObject({ points: [{ id: 99 }, { id: 98 }] });
    expect((await ask(servers[2], 'GET', '/collections/birds')).result).toMatchObject({
      points_count: 100,
      config: { params: { shard_number: 3, replication_factor: 2, write_consistency_factor: 2 } },
    });
    // A second write, of one shard: both positions are waited for.
    const second = await ask(servers[2], 'PUT', '/collections/birds/points', points(100, 1));
    const both = `${position}, ${second.headers.get('kithdb-position') ?? ''}`;
    expect(
      (await ask(servers[1], 'POST', '/collections/birds/points/count', EXACT, { 'KithDB-Position': both }))
        .result,
    ).toEqual({ count: 101 });
  });

  it('C30.9 say where the shards are, and how far', async () => {
    let replicas = 0;
    for (const server of servers) {
      const { result } = await ask(server, 'GET', '/collections/birds/cluster');
      const { local_shards: local, remote_shards: remote } = result as Record<string, { state: string }[]>;
      expect(result).toMatchObject({ shard_count: 3, shard_transfers: [] });
      expect([...(local ?? []), ...(remote ?? [])].map(({ state }) => state)).toEqual(
        Array.from({ length: 6 }, () => 'Active'),
      );
      replicas += local?.length ?? 0;
    }
    expect(replicas).toBe(6);
    const metrics = await (await fetch(`${servers[0]?.url}/metrics`)).text();
    expect(metrics).toMatch(/^kithdb_cluster_nodes\{state="live"\} 3$/m);
    expect(metrics).toMatch(/^kithdb_cluster_replicas \d$/m);
    expect(metrics).toMatch(/^kithdb_cluster_replica_lag_messages \d+$/m);
  });

  it('C30.7 refuse what one server refuses, and what a cluster does not do, with reasons', async () => {
    const [server] = servers;
    expect(await ask(server, 'PUT', '/collections/birds', BIRDS)).toMatchObject({ status: 409 });
    expect(await ask(server, 'POST', '/collections/none/points/count', {})).toMatchObject({ status: 404 });
    const bad = { points: [{ id: 1, vector: [1, 2, 3] }] };
    expect(await ask(server, 'PUT', '/collections/birds/points', bad)).toMatchObject({ status: 400 });
    expect(
      await ask(server, 'POST', '/collections/birds/points/count', {}, { 'KithDB-Position': 'x' }),
    ).toMatchObject({ status: 400, error: expect.stringContaining('KithDB-Position') });
    expect(await ask(server, 'PUT', '/collections/more', { ...BIRDS, replication_factor: 4 })).toMatchObject({
      status: 400,
      error: expect.stringContaining('replication_factor: 4 replicas'),
    });
    for (const [method, path, body] of [
      ['POST', '/collections/birds/snapshots', undefined],
      ['POST', '/snapshots', undefined],
      ['POST', '/collections/birds/clone', { name: 'owls' }],
      ['POST', '/collections/birds/points/projection', {}],
    ] as const) {
      const { status, error } = await ask(server, method, path, body);
      expect([path, status, error]).toEqual([path, 400, expect.stringMatching(/not available in a cluster/)]);
    }
    expect((await ask(server, 'GET', '/collections/birds/snapshots')).result).toEqual([]);
  });

  it('C30.4 let pages of other origins send and read positions', async () => {
    const origin = { Origin: 'https://app.example' };
    const { headers } = await ask(servers[0], 'PUT', '/collections/birds/points', points(0, 1), origin);
    expect(headers.get('access-control-expose-headers')).toContain('kithdb-position');
    const preflight = await fetch(`${servers[0]?.url}/collections/birds/points/count`, {
      method: 'OPTIONS',
      headers: origin,
    });
    expect(preflight.headers.get('access-control-allow-headers')).toContain('kithdb-position');
  });

  it("serve Qdrant's own client and ours", async () => {
    const { QdrantClient } = await import('@qdrant/js-client-rest');
    const client = new QdrantClient({ url: servers[1]!.url, checkCompatibility: false });
    await client.createCollection('owls', { vectors: { size: 2, distance: 'Cosine' }, shard_number: 2 });
    await client.upsert('owls', { wait: true, points: [{ id: 7, vector: [1, 0], payload: { n: 1 } }] });
    // A client without positions may ask a replica that is behind.
    await until(async () => (await client.query('owls', { query: [1, 0] })).points[0]?.id === 7);
    expect(await client.getCollections()).toEqual({ collections: [{ name: 'birds' }, { name: 'owls' }] });
    await client.deleteCollection('owls');
    const own = connect(servers[2]!.url);
    expect(await own.collectionExists('owls')).toEqual({ exists: false });
    await own.close();
  });

  it('C30.4 answer our client with what it and another one wrote, whichever node they ask', async () => {
    const [writer, reader] = [connect(servers[0]!.url), connect(servers[1]!.url)];
    await writer.createCollection('crows', { vectors: { size: 2, distance: 'Dot' }, shard_number: 3 });
    for (let id = 1; id <= 20; id += 1) {
      await writer.upsert('crows', { points: [{ id, vector: [id, 1] }] });
      expect(writer.position).toMatch(/^\d+:\d+:\d(, \d+:\d+:\d)*$/);
      expect(await writer.count('crows', { exact: true })).toEqual({ count: id });
      const after = { position: writer.position! };
      expect(await reader.count('crows', { exact: true }, after)).toEqual({ count: id });
    }
    expect(reader.position).toBeUndefined();
    const late = reader.count(
      'crows',
      { timeout: 1 },
      { position: writer.position!.replace(/:\d+:/, ':99999:') },
    );
    await expect(late).rejects.toBeInstanceOf(TimeoutError);
    await writer.deleteCollection('crows');
    await Promise.all([writer.close(), reader.close()]);
  });

  it('C30.5 leave shards out only where a read allows it, and say which', async () => {
    await ask(servers[0], 'PUT', '/collections/lone', {
      ...BIRDS,
      replication_factor: 1,
      write_consistency_factor: 1,
    });
    const { headers } = await ask(servers[0], 'PUT', '/collections/lone/points', points(0, 60));
    const after = { 'KithDB-Position': headers.get('kithdb-position') ?? '' };
    const count = '/collections/lone/points/count';
    expect(await ask(servers[0], 'POST', count, EXACT, after)).toMatchObject({ result: { count: 60 } });
    // Each shard is on one node, and one of the other nodes has some of them.
    const { result } = await ask(servers[0], 'GET', '/collections/lone/cluster');
    const { remote_shards: remote } = result as {
      readonly remote_shards: { readonly peer_id: number; readonly shard_id: number }[];
    };
    const peers = await Promise.all(
      servers.map(async (server) => {
        const { result: report } = await ask(server, 'GET', '/cluster');
        return (report as { readonly peer_id: number }).peer_id;
      }),
    );
    const lost = peers.findIndex((peer, at) => at > 0 && remote.some(({ peer_id }) => peer_id === peer));
    const shards = remote.filter(({ peer_id }) => peer_id === peers[lost]).map(({ shard_id }) => shard_id);
    await servers[lost]?.stop();
    const partial = await ask(servers[0], 'POST', `${count}?allow_partial=true`, EXACT);
    expect(partial.status).toBe(200);
    expect(partial.headers.get('kithdb-missing-shards')).toBe(shards.join(', '));
    expect((partial.result as { readonly count: number }).count).toBeLessThan(60);
    const client = connect(servers[0]!.url, { retry: { retries: 0 } });
    const missing: (readonly number[])[] = [];
    const onMissingShards = (of: readonly number[]): void => {
      missing.push(of);
    };
    await client.count('lone', { exact: true, allow_partial: true }, { onMissingShards });
    expect(missing).toEqual([shards]);
    await expect(client.count('lone', { exact: true })).rejects.toBeInstanceOf(UnavailableError);
    await client.close();
    expect(await ask(servers[0], 'POST', count, EXACT)).toMatchObject({
      status: 503,
      error: expect.stringContaining('no replica of shard'),
    });
    expect(await ask(servers[0], 'POST', `${count}?allow_partial=yes`, EXACT)).toMatchObject({ status: 400 });
    servers[lost] = await start(lost);
    await until(async () => (await ask(servers[0], 'POST', count, EXACT)).status === 200);
  });

  it('do not start where they would not be of the cluster, or are given as single servers', async () => {
    const dataDir = join(folder, 'other');
    await expect(startServer({ dataDir, settings: settings(9, 'owls') })).rejects.toThrow(
      /certificate for other nodes \(CN=node-9; DNS:owls\) is not of the cluster birds/,
    );
    await expect(startServer({ dataDir: servers[0]!.dataDir })).rejects.toThrow(
      /belongs to a node of the cluster birds: start it with --cluster/,
    );
    expect(existsSync(join(servers[0]!.dataDir, 'cluster.json'))).toBe(true);
  });

  it('wait for log servers that cannot be reached, and stop meanwhile', async () => {
    const { startServer: startNode } = await import('../../src/server.js');
    const { loadConfig, readFlags } = await import('../../src/config/index.js');
    const { default: pino } = await import('pino');
    const lines: string[] = [];
    const flags = ['--port', '0', '--data-dir', join(folder, 'waiting'), '--token-store', 'memory'];
    const node = await startNode(
      loadConfig({
        commandLine: readFlags([
          ...flags,
          '--cluster',
          'nats://127.0.0.1:1',
          '--cluster-listen',
          '127.0.0.1:0',
        ]),
        env: {},
        terminal: false,
      }),
      {
        log: { log: pino({ level: 'warn' }, { write: (line) => lines.push(line) }), flush: () => undefined },
        print: () => undefined,
        ownsProcess: false,
      },
    );
    await until(() => lines.some((line) => line.includes('the cluster cannot be joined yet')));
    expect((await fetch(`${node.url}/readyz`)).status).toBe(503);
    expect((await fetch(`${node.url}/collections`)).status).toBe(412);
    await node.stop();
    await node.ready;
  });
});
