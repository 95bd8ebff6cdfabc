import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EngineError, openNativeEngine, type Engine, type Operation } from '../../src/engine';
import type { Route } from '../../src/http/route-table';
import { concretePath, send, startService, type Answer, type Service } from '../http/harness';

/** One line of the corpus, which the engine's own tests read too. */
interface Malformed {
  readonly operation: string;
  readonly note: string;
  readonly body?: string;
  readonly body_base64?: string;
  readonly generated?: { prefix?: string; repeat: string; count: number; suffix?: string };
  readonly expected: { readonly code: string; readonly contains: string };
}

const CORPUS = JSON.parse(
  readFileSync(join(__dirname, '..', 'fixtures', 'malformed-bodies.json'), 'utf8'),
) as { collection: object; bodies: readonly Malformed[] };

/** How the message of each code starts; `bad_request` has its own words. */
const STARTS: Readonly<Record<string, string>> = {
  bad_request: '',
  missing_field: 'Missing required field: ',
  filter_parse: 'Filter parse error: ',
  dimension_mismatch: 'Dimension mismatch for vector ',
  vectors_config_required: 'vectors_config is required',
  vector_not_found: 'Vector not found: ',
  point_not_found: 'Point not found: ',
};

const MIB = 1024 * 1024;

function bytesOf({ body, body_base64: base64, generated }: Malformed): Buffer {
  if (generated !== undefined) {
    const { prefix = '', repeat, count, suffix = '' } = generated;
    return Buffer.from(prefix + repeat.repeat(count) + suffix);
  }
  return base64 === undefined ? Buffer.from(body ?? '') : Buffer.from(base64, 'base64');
}

const folder = mkdtempSync(join(tmpdir(), 'kithdb-malformed-'));
let engine: Engine;
/** The same engine behind both routers. */
let hotLane: Service;
let express: Service;

beforeAll(async () => {
  engine = openNativeEngine({ dataDir: folder, searchThreads: 1 });
  await engine.open();
  const limits = { bodyBytes: 64 * MIB };
  const admits = { bodyBytes: 256 * MIB };
  hotLane = await startService({ hotLane: true, realEngine: engine, limits, admits });
  express = await startService({ hotLane: false, realEngine: engine, limits, admits });
  await send(hotLane, 'PUT', '/collections/c', { json: CORPUS.collection });
  await send(hotLane, 'PUT', '/collections/witness', { json: CORPUS.collection });
  const points = [{ id: 1, vector: [1, 2, 3, 4], payload: { a: 1 } }];
  await send(hotLane, 'PUT', '/collections/witness/points', { json: { points } });
});
afterAll(async () => {
  await hotLane.close();
  await express.close();
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

function routeOf({ operation }: Malformed): Route | undefined {
  return hotLane.routes.find((line: Route) => line.kind === 'engine' && line.operation === operation);
}

function ask(service: Service, malformed: Malformed): Promise<Answer> {
  const route = routeOf(malformed);
  if (route === undefined) {
    throw new Error(`no route for ${malformed.operation}`);
  }
  const path = malformed.operation === 'create_collection' ? '/collections/new' : concretePath(route);
  const body = bytesOf(malformed);
  const headers = { 'x-request-id': 'the-same' };
  return send(service, route.method, path, body.length === 0 ? { headers } : { headers, body });
}

/** Everything that a client can see of the collections, as text so that numbers are exact. */
async function state(): Promise<string[]> {
  const requests: [string, string, object?][] = [['GET', '/collections']];
  for (const path of ['/collections/c', '/collections/witness']) {
    requests.push(['GET', path], ['POST', `${path}/points/scroll`, { with_vector: true, limit: 1000 }]);
  }
  const answers = await Promise.all(
    requests.map(([method, path, json]) => send(hotLane, method, path, json === undefined ? {} : { json })),
  );
  return answers.map(({ status, text }) => `${status} ${withoutTime(text)}`);
}

const withoutTime = (text: string): string => text.replace(/"time":[^,]*,/, '');

/** What of an answer must not depend on the router. */
function comparable({ status, headers, text }: Answer): unknown {
  // Both say how long the answer took, or depend on how long that is to write.
  return { status, headers: { ...headers, date: '', 'content-length': '' }, text: withoutTime(text) };
}

it('C1.4 the corpus is as large as it should be, and has every operation that takes a body', () => {
  expect(CORPUS.bodies.length).toBeGreaterThanOrEqual(150);
  const covered = new Set(CORPUS.bodies.map(({ operation }) => operation));
  const taking = hotLane.routes.flatMap((route) =>
    route.kind === 'engine' && route.body ? [route.operation] : [],
  );
  expect(taking.filter((operation) => !covered.has(operation))).toEqual([]);
});

it('C1.4 bodies of operations without an endpoint are refused by the engine, with the place, and change nothing', async () => {
  const before = await state();
  // Those of snapshots, which the process that makes or recovers one asks for.
  const bodies = CORPUS.bodies.filter((malformed) => routeOf(malformed) === undefined);
  expect(new Set(bodies.map(({ operation }) => operation))).toEqual(
    new Set(['link_snapshot', 'adopt_folders']),
  );
  const wrong: unknown[] = [];
  for (const malformed of bodies) {
    const { operation, note, expected } = malformed;
    const body = engine.receive();
    const bytes = bytesOf(malformed);
    body.append(bytes, bytes.length);
    const request = { operation: operation as Operation, collection: 'witness', body };
    const refused = await engine.execute(request).catch((error: unknown) => error);
    const { code, details } = refused instanceof EngineError ? refused : { code: '', details: {} };
    const said = details.message ?? details.field ?? '';
    if (code !== expected.code || !said.includes(expected.contains)) {
      wrong.push({ operation, note, expected, got: [code, said] });
    }
  }
  expect(wrong).toEqual([]);
  expect(await state()).toEqual(before);
});

it('C1.4, C1.11 all bodies of endpoints get their 400 or 404 with the place from both routers, and change nothing', async () => {
  const before = await state();
  const wrong: unknown[] = [];
  for (const malformed of CORPUS.bodies.filter((one) => routeOf(one) !== undefined)) {
    const { operation, note } = malformed;
    const { code, contains } = malformed.expected;
    const [hot, slow] = [await ask(hotLane, malformed), await ask(express, malformed)];
    expect({ operation, note, ...(comparable(slow) as object) }).toEqual({
      operation,
      note,
      ...(comparable(hot) as object),
    });
    // One bad search of a batch is named by its index (C6.2).
    const whole: string = hot.body?.status?.error ?? hot.text;
    const message = whole.replace(/^searches\[\d+\]: /, '');
    const status = code === 'point_not_found' ? 404 : 400;
    if (hot.status !== status || !message.startsWith(STARTS[code] ?? '') || !whole.includes(contains)) {
      wrong.push({ operation, note, code, contains, got: [hot.status, whole] });
    }
  }
  expect(wrong).toEqual([]);
  expect(await state()).toEqual(before);
});
