import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openNativeEngine, type Engine } from '../../src/engine';
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

describe.each([
  ['hot lane', true],
  ['Express', false],
])('bodies that are refused, %s', (_name, hotLane) => {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-malformed-'));
  let engine: Engine;
  let service: Service;

  beforeAll(async () => {
    engine = openNativeEngine({ dataDir: folder, searchThreads: 1 });
    await engine.open();
    const limits = { bodyBytes: 64 * MIB, bytesInFlight: 256 * MIB };
    service = await startService({ hotLane, realEngine: engine, limits });
    await send(service, 'PUT', '/collections/c', { json: CORPUS.collection });
    await send(service, 'PUT', '/collections/witness', { json: CORPUS.collection });
    const points = [{ id: 1, vector: [1, 2, 3, 4], payload: { a: 1 } }];
    await send(service, 'PUT', '/collections/witness/points', { json: { points } });
  });
  afterAll(async () => {
    await service.close();
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const post = (malformed: Malformed): Promise<Answer> => {
    const route = service.routes.find(
      (line: Route) => line.kind === 'engine' && line.operation === malformed.operation,
    );
    if (route === undefined) {
      throw new Error(`no route for ${malformed.operation}`);
    }
    const path = malformed.operation === 'create_collection' ? '/collections/new' : concretePath(route);
    const body = bytesOf(malformed);
    return send(service, route.method, path, body.length === 0 ? {} : { body });
  };

  /** Everything that a client can see of the collections. */
  const state = async (): Promise<unknown> => {
    const paths = ['/collections', '/collections/c', '/collections/witness'];
    const answers = await Promise.all([
      ...paths.map((path) => send(service, 'GET', path)),
      ...paths
        .slice(1)
        .map((path) => send(service, 'POST', `${path}/points/scroll`, { json: { with_vector: true } })),
    ]);
    return answers.map(({ status, body }) => [status, body.result]);
  };

  it(`C1.4, C1.11 all ${CORPUS.bodies.length} get their 400 or 404 with the place, and nothing changes`, async () => {
    const before = await state();
    const wrong: unknown[] = [];
    for (const malformed of CORPUS.bodies) {
      const { code, contains } = malformed.expected;
      const answer = await post(malformed);
      // One bad search of a batch is named by its index (C6.2).
      const whole: string = answer.body?.status?.error ?? answer.text;
      const message = whole.replace(/^searches\[\d+\]: /, '');
      const status = code === 'point_not_found' ? 404 : 400;
      if (answer.status !== status || !message.startsWith(STARTS[code] ?? '') || !whole.includes(contains)) {
        wrong.push({
          operation: malformed.operation,
          note: malformed.note,
          code,
          contains,
          got: [answer.status, whole],
        });
      }
    }
    expect(wrong).toEqual([]);
    expect(await state()).toEqual(before);
  });
});
