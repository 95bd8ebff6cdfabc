import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import supertest from 'supertest';
import { hugePages } from '../../src/metrics/huge-pages';
import { REFUSAL_REASONS } from '../../src/http/refusal';
import { send, startService, type Service } from './harness';

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Scrape {
  /** The type of each metric, by name. */
  readonly types: ReadonlyMap<string, string>;
  readonly samples: readonly Sample[];
}

const LABEL = /^([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/;

/** Reads Prometheus' text format 0.0.4 and refuses what a scraper would refuse. */
function parse(text: string): Scrape {
  expect(text.endsWith('\n')).toBe(true);
  const types = new Map<string, string>();
  const samples: Sample[] = [];
  const series = new Set<string>();
  for (const line of text.split('\n')) {
    const type = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram|summary|untyped)$/.exec(line);
    if (type !== null) {
      const [, name = '', kind = ''] = type;
      expect(types.has(name)).toBe(false);
      types.set(name, kind);
    } else if (line !== '' && !/^# HELP [a-zA-Z_:][\w:]* \S/.test(line)) {
      const sample = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
      expect([line, sample]).not.toEqual([line, null]);
      const [, name = '', labelText = '', value = ''] = sample ?? [];
      const labels: Record<string, string> = {};
      for (let rest = labelText; rest !== '';) {
        const [whole, label = '', content = ''] = LABEL.exec(rest) ?? [rest];
        expect([line, label]).not.toEqual([line, '']);
        labels[label] = content;
        rest = rest.slice(whole.length);
      }
      const base = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '');
      expect([line, types.has(base)]).toEqual([line, true]);
      expect([line, /^(nan|[-+]?(inf|\d+(\.\d+)?(e[-+]?\d+)?))$/i.test(value)]).toEqual([line, true]);
      const key = `${name} ${JSON.stringify(Object.entries(labels).sort())}`;
      expect([key, series.has(key)]).toEqual([key, false]);
      series.add(key);
      samples.push({ name, labels, value: Number(value) });
    }
  }
  return { types, samples };
}

function valuesOf({ samples }: Scrape, name: string, labels: Record<string, string> = {}): number[] {
  return samples
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
    .map(({ value }) => value);
}

async function scrape(service: Service): Promise<Scrape> {
  const { text } = await supertest(service.server).get('/metrics').expect(200);
  return parse(text);
}

describe('C3.16 GET /metrics', () => {
  let service: Service;
  beforeEach(async () => {
    service = await startService();
  });
  afterEach(() => service.close());

  it('needs no credential while authentication is disabled', async () => {
    const { headers } = await supertest(service.server).get('/metrics').expect(200);
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('needs the permission to read while it is enabled', async () => {
    service.auth.enabled = true;
    const refused = await supertest(service.server).get('/metrics').expect(401);
    expect(refused.body.status.error).toBe('Invalid or missing authorization token');
    const forbidden = await supertest(service.server)
      .get('/metrics')
      .set('api-key', 'token-write')
      .expect(403);
    expect(forbidden.body.status.error).toBe('Permission denied: read required');
    const { text } = await supertest(service.server).get('/metrics').set('api-key', 'token-read').expect(200);
    expect(valuesOf(parse(text), 'kithdb_collections')).toEqual([3]);
  });

  it('says what the engine says, each figure under its own name', async () => {
    service.engine.issues = [
      { kind: 'checkpoint', collection: 'a', what: 'no' },
      { kind: 'checkpoint', collection: 'b', what: 'no' },
      { kind: 'log', what: 'no' },
    ];
    const page = await scrape(service);
    const figures = page.samples
      .filter(({ name }) =>
        /^kithdb_(asleep|auto_indexes|collection|points|expired|cursor|health_issues|background|memory|mapped|disk|index|reads|recall|search|kernels|quar|checksum|scrub)/.test(
          name,
        ),
      )
      .map(({ name, labels, value }) => [[name, ...Object.values(labels)].join(' '), value]);
    expect(Object.fromEntries(figures)).toEqual({
      kithdb_collections: 3,
      kithdb_quarantined_collections: 0,
      kithdb_points: 42,
      'kithdb_health_issues disk_full': 0,
      'kithdb_health_issues memory_limit': 0,
      'kithdb_health_issues log': 1,
      'kithdb_health_issues quarantine': 0,
      'kithdb_health_issues collection': 0,
      'kithdb_health_issues checkpoint': 2,
      'kithdb_health_issues removal': 0,
      'kithdb_health_issues background': 0,
      'kithdb_background_panics_total vacuum': 401,
      'kithdb_background_restarts_total vacuum': 402,
      'kithdb_memory_bytes originals': 101,
      'kithdb_mapped_bytes originals': 102,
      'kithdb_memory_bytes codes': 103,
      'kithdb_memory_bytes links': 104,
      'kithdb_memory_bytes points': 105,
      'kithdb_memory_bytes payloads': 106,
      'kithdb_memory_bytes field_indexes': 107,
      'kithdb_disk_bytes log': 501,
      'kithdb_disk_bytes data': 502,
      'kithdb_index_backlog dense': 503,
      'kithdb_index_backlog sparse': 504,
      'kithdb_index_backlog field': 505,
      'kithdb_memory_limit_bytes process': 401,
      'kithdb_memory_held_bytes process': 402,
      'kithdb_memory_limit_bytes engine': 403,
      'kithdb_memory_held_bytes engine': 404,
      'kithdb_memory_held_bytes charged': 405,
      'kithdb_search_plans_total exact_scan': 201,
      'kithdb_search_plans_total scan': 202,
      'kithdb_search_plans_total wide_walk': 203,
      'kithdb_search_plans_total two_hop_walk': 204,
      kithdb_expired_points_total: 207,
      kithdb_auto_indexes: 210,
      kithdb_asleep_collections: 215,
      kithdb_cursors: 208,
      kithdb_cursor_bytes: 209,
      kithdb_search_fallbacks_total: 205,
      'kithdb_recall_estimate estimate': 0.98,
      'kithdb_recall_estimate low': 0.97,
      'kithdb_recall_estimate high': 0.99,
      kithdb_search_hops_total: 206,
      'kithdb_search_distances_total walk': 207,
      'kithdb_search_distances_total exact': 214,
      'kithdb_search_distances_total scan': 208,
      'kithdb_search_distances_total rerank': 209,
      'kithdb_reads waiting': 211,
      'kithdb_reads light': 212,
      'kithdb_reads heavy': 213,
      'kithdb_kernels_info avx2 avx_vnni': 1,
      'kithdb_checksum_failures_total data': 303,
      'kithdb_checksum_failures_total graph': 304,
      'kithdb_checksum_failures_total manifest': 305,
      'kithdb_checksum_failures_total catalog': 306,
      'kithdb_checksum_failures_total log': 307,
      kithdb_scrub_passes_total: 1,
      kithdb_scrub_bytes_total: 302,
      kithdb_scrub_last_finished_timestamp_seconds: 301,
    });
    expect(valuesOf(page, 'kithdb_build_info', { version: '0.1.0' })).toEqual([1]);
    expect(valuesOf(page, 'kithdb_transparent_hugepages_info')).toEqual([1]);
  });

  it('gives out the durations that the engine has counted as histograms', async () => {
    const page = await scrape(service);
    const bucketsOf = (name: string): object =>
      Object.fromEntries(
        page.samples
          .filter((sample) => sample.name.startsWith(name))
          .map(({ name: of, labels: { le = '' }, value }) => [`${of.slice(name.length)}${le}`, value]),
      );
    expect(page.types.get('kithdb_log_sync_duration_seconds')).toBe('histogram');
    expect(bucketsOf('kithdb_log_sync_duration_seconds')).toEqual({
      '_bucket0.001': 601,
      _bucket30: 603,
      '_bucket+Inf': 606,
      _sum: 604.5,
      _count: 606,
    });
    expect(bucketsOf('kithdb_checkpoint_duration_seconds')).toEqual({
      '_bucket0.001': 0,
      _bucket30: 7,
      '_bucket+Inf': 7,
      _sum: 6.5,
      _count: 7,
    });
    expect(bucketsOf('kithdb_wake_duration_seconds')).toEqual({
      '_bucket0.001': 1,
      _bucket30: 1,
      '_bucket+Inf': 3,
      _sum: 7.5,
      _count: 3,
    });
  });

  it('has a label for each collection that the engine has figures of, and the metric only then', async () => {
    expect([...(await scrape(service)).types.keys()].filter((name) => name.includes('_collection_'))).toEqual(
      [],
    );
    const figures = {
      points: 1,
      memoryBytes: 2,
      diskBytes: 3,
      backlog: { dense: 4, sparse: 5, field: 6 },
      searches: 7,
      writes: 8,
    };
    service.engine.collections = [
      { name: 'a "quoted" name', ...figures },
      { name: 'b', ...figures, points: 9, recall: { recall: 0.98, low: 0.97, high: 0.99 } },
    ];
    const page = await scrape(service);
    expect(page.samples.filter(({ labels }) => labels['collection'] !== undefined)).toHaveLength(8 + 11);
    expect(valuesOf(page, 'kithdb_collection_points')).toEqual([1, 9]);
    expect(valuesOf(page, 'kithdb_collection_memory_bytes', { collection: 'b' })).toEqual([2]);
    expect(valuesOf(page, 'kithdb_collection_disk_bytes', { collection: 'b' })).toEqual([3]);
    expect(valuesOf(page, 'kithdb_collection_index_backlog', { collection: 'b' })).toEqual([4, 5, 6]);
    expect(valuesOf(page, 'kithdb_collection_searches_total', { collection: 'b' })).toEqual([7]);
    expect(valuesOf(page, 'kithdb_collection_writes_total', { collection: 'b' })).toEqual([8]);
    expect(valuesOf(page, 'kithdb_collection_recall_estimate', { collection: 'b' })).toEqual([
      0.98, 0.97, 0.99,
    ]);
    expect(
      valuesOf(page, 'kithdb_collection_recall_estimate', { collection: 'a \\"quoted\\" name' }),
    ).toEqual([]);
    expect(valuesOf(page, 'kithdb_collection_points', { collection: 'a \\"quoted\\" name' })).toEqual([1]);
  });

  it('follows the conventions of names, and docs/metrics.md names every metric of ours', async () => {
    await send(service, 'GET', '/collections');
    service.engine.collections = [
      {
        ...{ name: 'a', points: 1, memoryBytes: 1, diskBytes: 1, searches: 1, writes: 1 },
        backlog: { dense: 0, sparse: 0, field: 0 },
      },
    ];
    const { types } = await scrape(service);
    const ours = [...types].filter(([name]) => name.startsWith('kithdb_'));
    expect(ours.length).toBeGreaterThan(10);
    for (const [name, type] of ours) {
      expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
    }
    const page = readFileSync(join(__dirname, '..', '..', 'docs', 'metrics.md'), 'utf8');
    expect(ours.map(([name]) => name).filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  it('counts requests of both lanes by route and status, and how long they took', async () => {
    const search = { method: 'POST', route: '/collections/:collection_name/points/search' };
    for (const collection of ['a', 'b', 'c']) {
      await send(service, 'POST', `/collections/${collection}/points/search`, { json: {} });
    }
    service.engine.failWith('collection_not_found', { name: 'd' });
    await send(service, 'POST', '/collections/d/points/search', { json: {} });
    await send(service, 'HEAD', '/collections');
    const page = await scrape(service);
    const total = 'kithdb_http_requests_total';
    expect(valuesOf(page, total, { ...search, code: '200' })).toEqual([3]);
    expect(valuesOf(page, total, { ...search, code: '404' })).toEqual([1]);
    expect(valuesOf(page, total, { ...search, code: '500' })).toEqual([]);
    expect(valuesOf(page, total, { method: 'GET', route: '/collections' })).toEqual([1]);
    const duration = 'kithdb_http_request_duration_seconds';
    const buckets = valuesOf(page, `${duration}_bucket`, search);
    expect(buckets).toEqual([...buckets].sort((a, b) => a - b));
    expect(valuesOf(page, `${duration}_bucket`, { ...search, le: '+Inf' })).toEqual([4]);
    expect(valuesOf(page, `${duration}_count`, search)).toEqual([4]);
    expect(valuesOf(page, `${duration}_sum`, search)[0]).toBeGreaterThan(0);
  });

  it('counts connections that were cut because there were too many, and says so once', async () => {
    await service.close();
    service = await startService({ server: { maxConnections: 2 } });
    const sockets = [0, 1, 2, 3].map(() => connect(service.port, '127.0.0.1').on('error', () => undefined));
    const isCut = sockets.map((socket) => once(socket.resume(), 'close'));
    await Promise.all(isCut.slice(0, 2));
    const page = await scrape(service);
    expect(valuesOf(page, 'kithdb_http_connections_dropped_total')).toEqual([3]);
    expect(service.logged.filter(({ msg }) => String(msg).includes('connections are cut'))).toHaveLength(1);
    sockets.forEach((socket) => socket.destroy());
  });

  it('counts refusals by reason, and has every reason from the start', async () => {
    await service.close();
    service = await startService({ admits: { requests: 0 } });
    const refusals = 'kithdb_http_refusals_total';
    expect(valuesOf(await scrape(service), refusals)).toEqual(REFUSAL_REASONS.map(() => 0));
    await send(service, 'GET', '/collections');
    await send(service, 'POST', '/collections/c/points/search', { json: {} });
    expect(valuesOf(await scrape(service), refusals, { reason: 'requests' })).toEqual([2]);
  });

  it('counts what the engine refuses for load, for a rate and for room', async () => {
    for (const [code, reason] of [
      ['overloaded', 'engine'],
      ['rate_limited', 'rate'],
      ['storage_full', 'storage_full'],
      ['memory_limit', 'memory_limit'],
    ] as const) {
      service.engine.failWith(code, { message: 'no' });
      await send(service, 'POST', '/collections/c/points/search', { json: {} });
      expect(valuesOf(await scrape(service), 'kithdb_http_refusals_total', { reason })).toEqual([1]);
    }
    service.engine.failWith('collection_not_found', { name: 'c' });
    await send(service, 'POST', '/collections/c/points/search', { json: {} });
    const counts = valuesOf(await scrape(service), 'kithdb_http_refusals_total');
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(4);
  });

  it('has no label from a request: routes of the table, "none" for the rest', async () => {
    for (const path of ['/secret', '/secret-2', '/collections/secret/nope', '/collections/%zz/nope']) {
      await send(service, 'GET', path);
      await send(service, 'PATCH', path);
    }
    await send(service, 'OPTIONS', '/collections/secret');
    await send(service, 'PUT', '/collections/%zz', { json: {} });
    await send(service, 'POST', '/collections/secret/points/count?secret=1', { json: {} });
    await send(service, 'DELETE', '/collections/c/index/secret');
    const page = await scrape(service);
    const known = new Set(service.routes.map(({ method, path }) => `${method} ${path}`)).add('none none');
    const met = page.samples.flatMap(({ labels: { method, route } }) =>
      route === undefined ? [] : [`${method ?? ''} ${route}`],
    );
    expect(met.filter((line) => !known.has(line))).toEqual([]);
    expect(met).toContain('none none');
    expect(JSON.stringify(page.samples)).not.toContain('secret');
  });

  it('counts a client that left as aborted, and not as the status it never got', async () => {
    let open = (): void => undefined;
    service.engine.gate = new Promise((resolve) => {
      open = resolve;
    });
    const socket = connect(service.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write('GET /collections HTTP/1.1\r\nHost: localhost\r\n\r\n');
    while (service.engine.requests.length === 0) {
      await new Promise(setImmediate);
    }
    socket.destroy();
    while (service.requests.inProgress > 0) {
      await new Promise(setImmediate);
    }
    open();
    const page = await scrape(service);
    const aborted = { method: 'GET', route: '/collections', code: 'aborted' };
    expect(valuesOf(page, 'kithdb_http_requests_total', aborted)).toEqual([1]);
    expect(valuesOf(page, 'kithdb_http_requests_total', { route: '/collections' })).toEqual([1]);
  });

  it('makes its text once a second for any number of scrapers, and asks the engine for a report as often', async () => {
    await service.close();
    service = await startService({ metricsKeptMs: 60_000 });
    const texts = await Promise.all(
      Array.from({ length: 20 }, async () => (await supertest(service.server).get('/metrics')).text),
    );
    await send(service, 'GET', '/collections');
    texts.push((await supertest(service.server).get('/metrics')).text);
    expect(new Set(texts).size).toBe(1);
    expect(service.engine.refreshes).toBe(1);
    // A server that stops says so at once.
    service.lifecycle.beginStop();
    expect((await supertest(service.server).get('/metrics')).status).toBe(503);
  });

  it('counts on between scrapes: no scrape resets or repeats anything', async () => {
    await send(service, 'GET', '/collections');
    await Promise.all([scrape(service), scrape(service)]);
    await send(service, 'GET', '/collections');
    const page = await scrape(service);
    expect(valuesOf(page, 'kithdb_http_requests_total', { route: '/collections' })).toEqual([2]);
    expect(valuesOf(page, 'kithdb_http_requests_total', { route: '/metrics' })).toEqual([2]);
    expect(valuesOf(page, 'kithdb_search_hops_total')).toEqual([206]);
  });
});

it('C3.16, C10.1 GET /metrics answers while the engine is not open: the process, and nothing of the engine', async () => {
  const service = await startService({ starting: true });
  expect((await send(service, 'GET', '/collections')).status).toBe(412);
  const page = await scrape(service);
  expect(valuesOf(page, 'kithdb_ready')).toEqual([0]);
  expect(valuesOf(page, 'process_cpu_seconds_total')).toHaveLength(1);
  expect(valuesOf(page, 'kithdb_http_requests_total', { route: '/collections', code: '412' })).toEqual([1]);
  const ofEngine =
    /^kithdb_(collection|quarantined|points|health_issues|memory|mapped|disk|index|log|checkpoint|search|kernels|checksum|scrub)/;
  expect([...page.types.keys()].filter((name) => ofEngine.test(name))).toEqual([]);
  service.lifecycle.becomeReady(service.engine);
  expect(valuesOf(await scrape(service), 'kithdb_ready')).toEqual([1]);
  await service.close();
});

it('the state of huge pages is the one in brackets, and unknown where there is no such file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-huge-pages-'));
  const file = join(folder, 'enabled');
  for (const [text, state] of [
    ['[always] madvise never\n', 'always'],
    ['always [madvise] never\n', 'madvise'],
    ['always madvise [never]\n', 'never'],
    ['always inherit [sometimes]\n', 'unknown'],
  ] as const) {
    writeFileSync(file, text);
    expect(hugePages(file)).toBe(state);
  }
  expect(hugePages(join(folder, 'absent'))).toBe('unknown');
  rmSync(folder, { recursive: true });
});
