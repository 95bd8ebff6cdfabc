import { DIALECTS } from '../../src/http/dialect';
import { RouteMatcher } from '../../src/http/matcher';
import { checkRouteTable, isPointsRoute, type Route } from '../../src/http/route-table';
import { reachOf } from '../../src/http/token-limits';
import { OPERATIONS } from '../../src/engine/types';
import { concretePath, send, startService, type Service } from './harness';

/** Written from the contract, not from the table. */
const LINES = [
  'DELETE /cluster/peer/:peer_id write',
  'DELETE /collections/:collection_name write',
  'DELETE /collections/:collection_name/index/:field_name write',
  'DELETE /collections/:collection_name/snapshots/:snapshot_name any',
  'DELETE /collections/:collection_name/vectors/:vector_name write',
  'DELETE /snapshots/:snapshot_name any',
  'GET / none',
  'GET /aliases any',
  'GET /cluster read',
  'GET /cluster/telemetry read',
  'GET /collections read',
  'GET /collections/:collection_name read',
  'GET /collections/:collection_name/aliases any',
  'GET /collections/:collection_name/cluster read',
  'GET /collections/:collection_name/exists read',
  'GET /collections/:collection_name/optimizations read',
  'GET /collections/:collection_name/points/:id read',
  'GET /collections/:collection_name/snapshots any',
  'GET /collections/:collection_name/snapshots/:snapshot_name any',
  'GET /collections/:collection_name/status any',
  'GET /collections/:collection_name/vectors/:vector_name/reembed read',
  'GET /healthz none',
  'GET /livez none',
  'GET /metrics read',
  'GET /openapi.json none',
  'GET /readyz none',
  'GET /settings admin-jwt',
  'GET /snapshots any',
  'GET /snapshots/:snapshot_name any',
  'GET /telemetry read',
  'PATCH /collections/:collection_name write',
  'POST /aliases any',
  'POST /collections/:collection_name/clone write',
  'POST /collections/:collection_name/cluster write',
  'POST /collections/:collection_name/facet read',
  'POST /collections/:collection_name/operations/flush any',
  'POST /collections/:collection_name/operations/optimize any',
  'POST /collections/:collection_name/operations/rebuild_index any',
  'POST /collections/:collection_name/points read',
  'POST /collections/:collection_name/points/batch write',
  'POST /collections/:collection_name/points/count read',
  'POST /collections/:collection_name/points/delete write',
  'POST /collections/:collection_name/points/discover any',
  'POST /collections/:collection_name/points/discover/batch any',
  'POST /collections/:collection_name/points/payload write',
  'POST /collections/:collection_name/points/payload/clear write',
  'POST /collections/:collection_name/points/payload/delete write',
  'POST /collections/:collection_name/points/projection read',
  'POST /collections/:collection_name/points/query read',
  'POST /collections/:collection_name/points/query/batch read',
  'POST /collections/:collection_name/points/query/groups any',
  'POST /collections/:collection_name/points/recommend any',
  'POST /collections/:collection_name/points/recommend/batch any',
  'POST /collections/:collection_name/points/recommend/groups any',
  'POST /collections/:collection_name/points/scroll read',
  'POST /collections/:collection_name/points/search read',
  'POST /collections/:collection_name/points/search/batch read',
  'POST /collections/:collection_name/points/search/groups any',
  'POST /collections/:collection_name/points/search/matrix/offsets read',
  'POST /collections/:collection_name/points/search/matrix/pairs read',
  'POST /collections/:collection_name/points/sync/plan read',
  'POST /collections/:collection_name/points/vectors/delete write',
  'POST /collections/:collection_name/snapshots any',
  'POST /collections/:collection_name/snapshots/upload any',
  'POST /collections/:collection_name/vectors/:vector_name/reembed write',
  'POST /collections/:collection_name/vectors/:vector_name/reembed/abort write',
  'POST /collections/:collection_name/vectors/:vector_name/reembed/commit write',
  'POST /collections/aliases any',
  'POST /snapshots any',
  'PUT /collections/:collection_name write',
  'PUT /collections/:collection_name/index write',
  'PUT /collections/:collection_name/points write',
  'PUT /collections/:collection_name/points/payload write',
  'PUT /collections/:collection_name/points/sync write',
  'PUT /collections/:collection_name/points/vectors write',
  'PUT /collections/:collection_name/snapshots/:snapshot_name/recover any',
  'PUT /collections/:collection_name/snapshots/recover any',
  'PUT /collections/:collection_name/vectors/:vector_name write',
  'PUT /snapshots/recover any',
];

/** What the dialect `qdrant` has in place of a 501 (C12). */
const SERVED = [
  'GET /aliases read',
  'GET /collections/:collection_name/aliases read',
  'POST /aliases write',
  'DELETE /collections/:collection_name/snapshots/:snapshot_name write',
  'DELETE /snapshots/:snapshot_name write',
  'GET /collections/:collection_name/snapshots read',
  'GET /collections/:collection_name/snapshots/:snapshot_name read',
  'GET /collections/:collection_name/status read',
  'GET /snapshots read',
  'GET /snapshots/:snapshot_name admin-jwt',
  'POST /collections/:collection_name/operations/flush write',
  'POST /collections/:collection_name/operations/optimize write',
  'POST /collections/:collection_name/operations/rebuild_index write',
  'POST /collections/:collection_name/points/discover read',
  'POST /collections/:collection_name/points/discover/batch read',
  'POST /collections/:collection_name/points/recommend read',
  'POST /collections/:collection_name/points/recommend/batch read',
  'POST /collections/:collection_name/points/query/groups read',
  'POST /collections/:collection_name/points/recommend/groups read',
  'POST /collections/:collection_name/points/search/groups read',
  'POST /collections/aliases write',
  'POST /collections/:collection_name/snapshots write',
  'POST /collections/:collection_name/snapshots/upload write',
  'POST /snapshots write',
  'PUT /collections/:collection_name/snapshots/:snapshot_name/recover write',
  'PUT /collections/:collection_name/snapshots/recover write',
  'PUT /snapshots/recover admin-jwt',
];

describe('the route table', () => {
  let service: Service;
  let qdrant: Service;
  beforeAll(async () => {
    service = await startService();
    qdrant = await startService({ dialect: DIALECTS.qdrant });
  });
  afterAll(async () => {
    await service.close();
    await qdrant.close();
  });

  const plain = (path: string, permission: unknown): Route =>
    ({ kind: 'plain', method: 'GET', path, permission, answer: () => undefined }) as Route;

  it('stops the start for a route without a permission', () => {
    expect(() => {
      checkRouteTable([plain('/a', undefined)]);
    }).toThrow('Route GET /a names no permission');
    expect(() => {
      checkRouteTable([plain('/a', 'reads')]);
    }).toThrow('names no permission');
  });

  it('stops the start for a repeated line or a path that the matchers would read differently', () => {
    expect(() => {
      checkRouteTable([plain('/a/:x', 'read'), plain('/a/:y', 'read')]);
    }).toThrow('Route GET /a/:y is in the table twice');
    for (const path of ['/a/*rest', '/a{/b}', 'a', '/a/', '/a/:x.json']) {
      expect(() => {
        checkRouteTable([plain(path, 'read')]);
      }).toThrow('literal segments');
    }
  });

  it('takes the root and a parameter below it for two lines', () => {
    expect(() => {
      checkRouteTable([plain('/', 'read'), plain('/:x', 'read')]);
    }).not.toThrow();
  });

  it.each(['plain', 'auth', 'handled'])('has no data that a token reaches by a route of kind %s', (kind) => {
    expect(reachOf({ ...plain('/a', 'read'), kind } as Route)).toBe('nothing');
  });

  it('accepts the table that is served', () => {
    expect(() => {
      checkRouteTable(service.routes);
    }).not.toThrow();
  });

  it('has exactly one route for every operation of the engine, and two for a change of aliases', () => {
    const operations = qdrant.routes.flatMap((route) => (route.kind === 'engine' ? [route.operation] : []));
    // What snapshots are made of has none, and what embeds texts anew: services of this process do it.
    const ofServices = new Set<string>([
      ...['link_snapshot', 'adopt_folders'],
      ...['replica_state', 'remove_expired'],
      ...['list_reembeddings', 'next_texts', 'fill_vectors'],
    ]);
    const expected = OPERATIONS.filter((operation) => !ofServices.has(operation));
    expect([...operations].sort()).toEqual([...expected, 'change_aliases'].sort());
  });

  it('has every endpoint of C4, C5, C6, C8 and C9.2 with its permission', () => {
    const lines = ({ routes }: Service): string[] =>
      routes
        .filter((route) => route.kind !== 'auth')
        .map((route) => `${route.method} ${route.path} ${route.permission}`)
        .sort();
    expect(lines(service)).toEqual(LINES);
    const endpoint = (line: string): string => line.replace(/ [\w-]+$/, '');
    const served = new Set(SERVED.map(endpoint));
    const kept = LINES.filter((line) => !served.has(endpoint(line)));
    expect(lines(qdrant)).toEqual([...kept, ...SERVED].sort());
  });

  it('serves by the hot lane what is under /collections/{c}/points, and nothing else', () => {
    const hot = service.routes.filter(isPointsRoute);
    expect(hot.length).toBe(29);
    expect(hot.every((route) => route.path.startsWith('/collections/:collection_name/points'))).toBe(true);
  });

  describe('the matcher', () => {
    it('finds every route of the table and its raw parameters', () => {
      const matcher = new RouteMatcher(service.routes);
      for (const route of service.routes) {
        expect(matcher.match(route.method, concretePath(route))?.route).toBe(route);
      }
      expect(matcher.match('GET', '/collections/a%2Fb/points/x%20y')?.params).toEqual({
        values: { collection_name: 'a/b', id: 'x y' },
        undecodable: [],
      });
    });

    it('falls back to a parameter when the literal has no such method', () => {
      const matcher = new RouteMatcher(service.routes);
      expect(matcher.match('GET', '/collections/c/points/search')?.route.path).toBe(
        '/collections/:collection_name/points/:id',
      );
      expect(matcher.methods('/collections/c/points/search')).toEqual(['POST', 'GET', 'HEAD']);
    });

    it('never takes an empty segment for a parameter', () => {
      const matcher = new RouteMatcher(service.routes);
      expect(matcher.match('GET', '/collections//exists')).toBeUndefined();
      expect(matcher.methods('/collections//exists')).toEqual([]);
    });
  });

  describe.each([
    ['hot lane', true],
    ['Express', false],
  ])('routes that do not exist, %s', (_name, hotLane) => {
    let lane: Service;
    beforeAll(async () => {
      lane = await startService({ hotLane });
    });
    afterAll(() => lane.close());

    it.each([
      ['GET', '/nowhere'],
      ['GET', '/openapi.yaml'],
      ['POST', '/collections/c/points/search/more/still'],
      ['GET', '/collections/c/Points/7'],
      ['GET', '/Collections'],
      ['POST', '/collections//points/search'],
      ['POST', '/collections/c/nope'],
      ['GET', '/collections/%zz/nope'],
    ])('C1.5 %s %s is a 404 that names them', async (method, path) => {
      const answer = await send(lane, method, path);
      expect(answer.status).toBe(404);
      expect(answer.body).toEqual({
        time: expect.any(Number),
        status: { error: `Route not found: ${method} ${path}` },
      });
    });

    it.each([
      ['PATCH', '/collections/c/points', 'PUT, POST'],
      ['DELETE', '/collections/c/points/search', 'POST, GET, HEAD'],
      ['POST', '/collections/c', 'GET, HEAD, PUT, PATCH, DELETE'],
      ['OPTIONS', '/collections', 'GET, HEAD'],
      ['PUT', '/', 'GET, HEAD'],
      ['POST', '/collections/%zz/points/7', 'GET, HEAD'],
    ])('C1.5 %s %s is a 405 with Allow: %s', async (method, path, allow) => {
      const answer = await send(lane, method, path);
      expect(answer.status).toBe(405);
      expect(answer.headers.allow).toBe(allow);
      expect(answer.body.status.error).toContain(`${method} ${path}`);
    });

    it('C1.3 keeps the auth envelope for unknown routes and methods under /auth', async () => {
      for (const [method, path, status] of [
        ['GET', '/auth', 404],
        ['GET', '/auth/nope', 404],
        ['GET', '/auth/enabled', 405],
      ] as const) {
        const answer = await send(lane, method, path);
        expect(answer.status).toBe(status);
        expect(answer.body).toEqual({ status: 'error', message: expect.any(String) });
      }
      expect((await send(lane, 'GET', '/authority')).body).toHaveProperty('status.error');
    });

    it('C1.6 answers 404 and 405 before it checks credentials', async () => {
      lane.auth.enabled = true;
      expect((await send(lane, 'GET', '/nowhere')).status).toBe(404);
      expect((await send(lane, 'PATCH', '/collections/c/points')).status).toBe(405);
      lane.auth.enabled = false;
    });

    it.each(['/collections/', '/collections///', '/collections/c/points/7/', 'http://localhost/collections'])(
      'takes %s for the path without its trailing slashes, scheme and authority',
      async (path) => {
        expect((await send(lane, 'GET', path, { headers: { host: 'localhost' } })).status).toBe(200);
      },
    );

    it('answers HEAD where there is GET, with the same headers and no body', async () => {
      for (const path of ['/', '/collections', '/collections/c/points/7']) {
        const [get, head] = await Promise.all([send(lane, 'GET', path), send(lane, 'HEAD', path)]);
        expect(head.status).toBe(200);
        expect(head.text).toBe('');
        expect(head.headers['content-type']).toBe(get.headers['content-type']);
      }
    });
  });
});
