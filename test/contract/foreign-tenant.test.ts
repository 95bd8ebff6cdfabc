import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { authRoutes } from '../../src/auth';
import { consoleRoutes } from '../../src/console/routes';
import { ClientAddresses } from '../../src/http/client-address';
import { DIALECTS } from '../../src/http/dialect';
import { Lifecycle } from '../../src/http/lifecycle';
import { LocalRequestCounts } from '../../src/http/request-counts';
import type { Route } from '../../src/http/route-table';
import { mcpRoutes } from '../../src/mcp-host/route';
import { allRoutes } from '../../src/routes';
import { SnapshotService } from '../../src/snapshots/service';
import { SnapshotStore } from '../../src/snapshots/store';
import { send, type Answer } from '../http/harness';
import { ContractServer, type Json } from './contract-server';
import { bodyOf } from './route-bodies';

const PASSWORD = 'Correct-Horse-9-Battery';
/** The collection of another tenant: no answer may have this name. */
const FOREIGN = 'rival-7c1';
const OWN = 'tenants';

const NO_ACCESS = 'Permission denied: the access token does not allow this in the collection';
const NO_LIMITS = 'Permission denied: an access token without collections and filter required';
const NEEDS_JWT = 'Admin JWT required';
const NEEDS_ADMIN = 'Permission denied: admin required';

/** What routes without a collection in their path answer to such a token: written from the contract, not from the table. */
const ANSWERS: Readonly<Record<string, readonly [status: number, message?: string]>> = {
  'GET /': [200],
  'GET /livez': [200],
  'GET /healthz': [200],
  'GET /readyz': [200],
  'GET /openapi.json': [200],
  'GET /console': [200],
  'GET /console/:file': [404],
  'GET /collections': [200],
  'GET /metrics': [403, NO_LIMITS],
  'GET /telemetry': [403, NO_LIMITS],
  'GET /cluster': [403, NO_LIMITS],
  'GET /cluster/telemetry': [403, NO_LIMITS],
  'GET /settings': [403, NEEDS_JWT],
  'GET /auth/admin/exists': [200],
  'POST /auth/admin/login': [400, 'Missing required field: password'],
  'POST /auth/admin': [400, 'Missing required field: password'],
  'POST /auth/admin/reset-password': [403, NEEDS_JWT],
  'PATCH /auth/enabled': [403, NEEDS_JWT],
  'GET /auth/access_tokens': [403, NEEDS_ADMIN],
  'POST /auth/access_token': [403, NEEDS_ADMIN],
  'POST /auth/access_token/:id/rotate': [403, NEEDS_ADMIN],
  'DELETE /auth/access_token/:id': [403, NEEDS_ADMIN],
  'DELETE /cluster/peer/:peer_id': [403, NO_LIMITS],
};

/** Those that answer in the dialect `qdrant`, and are a 501 in the other. */
const OF_QDRANT: typeof ANSWERS = {
  'GET /aliases': [200],
  'POST /aliases': [403, NO_LIMITS],
  'POST /collections/aliases': [403, NO_LIMITS],
  'GET /snapshots': [403, NO_LIMITS],
  'POST /snapshots': [403, NO_LIMITS],
  'PUT /snapshots/recover': [403, NEEDS_JWT],
  'GET /snapshots/:snapshot_name': [403, NEEDS_JWT],
  'DELETE /snapshots/:snapshot_name': [403, NO_LIMITS],
};

describe.each(['specification', 'qdrant'] as const)(
  'C15 a token of a tenant, in the dialect %s',
  (dialect) => {
    const routes = allRoutes({
      authRoutes: authRoutes(new Promise(() => undefined), new ClientAddresses([]), new LocalRequestCounts()),
      lifecycle: new Lifecycle(),
      requests: new LocalRequestCounts(),
      kithdbVersion: '0.1.0',
      dialect: DIALECTS[dialect],
      pages: [...mcpRoutes('write', () => undefined), ...consoleRoutes()],
      snapshots: new SnapshotService(new SnapshotStore('/nowhere', { maxSnapshots: 1, maxSnapshotBytes: 1 })),
    });
    const ofCollections = routes.filter(({ path }) => path.includes(':collection_name'));
    let server: ContractServer;
    let jwt: string;
    let own: string;
    /** Snapshots of the other tenant's collection and of all. */
    let snapshots: readonly string[] = ['s', 's'];

    const call = (credential: string, method: string, path: string, json?: unknown): Promise<Answer> =>
      send({ port: server.port }, method, path, {
        ...(json !== undefined && { json }),
        headers: { authorization: `Bearer ${credential}` },
      });
    const ok = async (method: string, path: string, json?: unknown): Promise<Json> => {
      const { status, body, text } = await call(jwt, method, path, json);
      if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
      return body.result ?? body;
    };

    const page = async (path: string): Promise<Pick<Answer, 'status' | 'text' | 'body'>> => {
      const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, {
        headers: { authorization: `Bearer ${own}` },
      });
      return { status: answer.status, text: await answer.text(), body: undefined };
    };

    /** Everything that another tenant has, and the server as a whole. */
    const everything = async (): Promise<Json> => [
      await ok('GET', '/collections'),
      await ok('POST', `/collections/${FOREIGN}/points/scroll`, { with_vector: true }),
      (await ok('GET', `/collections/${FOREIGN}`)).config,
      (await ok('GET', '/auth/access_tokens')).length,
      dialect === 'qdrant' && [
        await ok('GET', '/snapshots'),
        await ok('GET', `/collections/${FOREIGN}/snapshots`),
        await ok('GET', '/aliases'),
      ],
    ];

    beforeAll(async () => {
      server = await ContractServer.start(['--dialect', dialect], {
        KITHDB_ADMIN_PASSWORD: PASSWORD,
        KITHDB_AUTH_ENABLED: 'true',
        KITHDB_MCP: 'write',
      });
      const login = await send({ port: server.port }, 'POST', '/auth/admin/login', {
        json: { password: PASSWORD },
      });
      jwt = login.body.token;
      for (const name of [OWN, FOREIGN]) {
        await ok('PUT', `/collections/${name}`, { vectors: { size: 2, distance: 'Dot' } });
        await ok('PUT', `/collections/${name}/points`, {
          points: [{ id: 1, vector: [1, 0], payload: { a: 1 } }],
        });
      }
      const collections = [{ name: OWN, permission: 'read,write' }];
      own = (await ok('POST', '/auth/access_token', { name: 'x', permission: 'read,write', collections }))
        .token;
      if (dialect === 'qdrant') {
        snapshots = [
          (await ok('POST', `/collections/${FOREIGN}/snapshots`)).name,
          (await ok('POST', '/snapshots')).name,
        ];
      }
    });
    afterAll(() => server.stop());

    /** The path of a route, for a collection and a snapshot. */
    const pathOf = ({ path }: Route, collection: string, snapshot: string): string =>
      path
        .replace(':collection_name', collection)
        .replace(':snapshot_name', snapshot)
        .replace(':field_name', 'a')
        .replace(':vector_name', 'v')
        .replace(':file', 'none.js')
        .replace(':id', '1');

    /** What is in the whole answer, with nothing that differs from call to call. */
    const answered = ({
      status,
      body,
      text,
    }: Pick<Answer, 'status' | 'text' | 'body'>): readonly [number, unknown] => {
      if (status !== 200) expect(text).not.toContain(FOREIGN);
      return [status, body?.status?.error ?? body?.message];
    };

    it('C15 reaches no foreign collection by any route, and learns nothing of whether it exists', async () => {
      expect(ofCollections.length).toBeGreaterThan(50);
      const before = await everything();
      for (const route of ofCollections) {
        const isOfServer =
          route.path.endsWith('/cluster') || (dialect === 'qdrant' && route.path.includes('/snapshots'));
        const expected = [403, isOfServer ? NO_LIMITS : NO_ACCESS];
        for (const name of [FOREIGN, 'absent', 'Tenants', 'tenants2', '%FF']) {
          const answer = await call(own, route.method, pathOf(route, name, snapshots[0]!), bodyOf(route));
          const line = `${route.method} ${route.path} of ${name}`;
          expect([line, ...answered(answer)]).toEqual([line, ...expected]);
        }
      }
      expect(await everything()).toEqual(before);
    });

    it('C15 gets from every other route what the contract says, and never the name of a foreign collection', async () => {
      const others = routes.filter((route) => !ofCollections.includes(route) && route.path !== '/mcp');
      const table = { ...ANSWERS, ...OF_QDRANT };
      expect(others.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(Object.keys(table).sort());
      const before = await everything();
      for (const route of others) {
        const line = `${route.method} ${route.path}`;
        const isMissing = dialect === 'specification' && OF_QDRANT[line] !== undefined;
        const [status, message] = isMissing ? [501] : table[line]!;
        const path = pathOf(route, '', snapshots[1]!);
        // The description leaves the pages of the console out.
        const answer = path.startsWith('/console')
          ? await page(path)
          : await call(own, route.method, path, route.method === 'GET' ? undefined : {});
        expect(answer.text).not.toContain(FOREIGN);
        const [found, said] = answered(answer);
        expect([line, found, message === undefined ? undefined : said]).toEqual([line, status, message]);
      }
      expect(await everything()).toEqual(before);
    });

    it('C15 is held to its collections by the tools of /mcp', async () => {
      const client = new Client({ name: 'test', version: '1' });
      const url = new URL(`http://127.0.0.1:${server.port}/mcp`);
      const headers = { authorization: `Bearer ${own}` };
      await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
      const tool = async (name: string, args: object = {}): Promise<string> => {
        const { content } = await client.callTool({ name, arguments: { ...args } });
        return (content as [{ text: string }])[0].text;
      };
      const before = await everything();
      expect(JSON.parse(await tool('list_collections'))).toEqual({ collections: [{ name: OWN }] });
      const points = [{ id: 1, vector: [9, 9] }];
      for (const collection of [FOREIGN, 'absent']) {
        for (const [name, more] of [
          ['describe_collection', {}],
          ['count', {}],
          ['query', { vector: [1, 0] }],
          ['upsert', { points }],
        ] as const) {
          expect([name, await tool(name, { collection, ...more })]).toEqual([
            name,
            expect.stringContaining(NO_ACCESS),
          ]);
        }
      }
      expect(JSON.parse(await tool('count', { collection: OWN }))).toEqual({ count: 1 });
      await client.close();
      expect(await everything()).toEqual(before);
    });
  },
);
