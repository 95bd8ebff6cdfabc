import { DIALECTS } from '../../src/http/dialect';
import type { RoutePermission } from '../../src/http/route';
import type { Route } from '../../src/http/route-table';
import { CREDENTIALS } from './fake-auth';
import { concretePath, send, sendRaw, startService, type Answer, type Service } from './harness';

/** No header, a bad one, and each credential that the fake knows. */
const STATES = ['nothing', 'garbage', ...Object.keys(CREDENTIALS)];

const UNAUTHENTICATED = 'Invalid or missing authorization token';

/** What a route's permission makes of a credential: status and message, or undefined when it lets pass. */
function expected(
  permission: RoutePermission,
  state: string,
  enabled: boolean,
): { status: number; message: string } | undefined {
  const identity = CREDENTIALS[state];
  const lacks = (name: 'read' | 'write' | 'admin') =>
    identity === undefined
      ? { status: 401, message: UNAUTHENTICATED }
      : identity.permissions.has(name)
        ? undefined
        : { status: 403, message: `Permission denied: ${name} required` };
  switch (permission) {
    case 'none':
    case 'local':
      return undefined;
    case 'any':
      return enabled && identity === undefined ? { status: 401, message: UNAUTHENTICATED } : undefined;
    case 'read':
    case 'write':
      return enabled ? lacks(permission) : undefined;
    case 'token-admin':
      return enabled || identity?.permissions.has('admin') === true
        ? lacks('admin')
        : { status: 403, message: 'Access token API requires auth_enabled=true' };
    case 'admin-jwt':
    case 'known-admin':
      if (identity === undefined) {
        return { status: 401, message: UNAUTHENTICATED };
      }
      return identity.kind === 'admin-jwt' ? undefined : { status: 403, message: 'Admin JWT required' };
  }
}

function messageOf(route: Route, answer: Answer): string | undefined {
  return route.kind === 'auth' ? answer.body.message : answer.body.status.error;
}

/** What a route answers once its permission let the request pass. */
function passedStatus(route: Route, status: number): number {
  if (route.kind === 'service') {
    // It has nothing to work with here.
    return [401, 403].includes(status) ? 0 : status;
  }
  if (route.kind === 'unimplemented') {
    return 501;
  }
  if (route.path === '/auth/broken') {
    return 500;
  }
  return route.kind === 'engine' ? (route.success ?? 200) : 200;
}

describe.each([
  ['hot lane', true, DIALECTS.specification],
  ['Express', false, DIALECTS.specification],
  ['dialect qdrant', true, DIALECTS.qdrant],
])(
  'C1.6, C3.9, C3.13, C3.14, C3.16, C8: every route with every credential, %s',
  (_name, hotLane, dialect) => {
    let service: Service;
    beforeAll(async () => {
      service = await startService({ hotLane, dialect });
    });
    afterAll(() => service.close());

    describe.each([
      ['enabled', true],
      ['disabled', false],
    ])('authentication %s', (_state, enabled) => {
      it.each(STATES)('credential: %s', async (state) => {
        service.auth.enabled = enabled;
        for (const late of [false, true]) {
          service.auth.late = late;
          for (const route of service.routes) {
            const headers: Record<string, string> =
              state === 'nothing' ? {} : { authorization: `Bearer ${state}` };
            const answer = await send(service, route.method, concretePath(route), { headers });
            const refused = expected(route.permission, state, enabled);
            const line = `${route.method} ${route.path}`;
            if (refused === undefined) {
              expect([line, answer.status]).toEqual([line, passedStatus(route, answer.status)]);
            } else {
              expect([line, answer.status, messageOf(route, answer)]).toEqual([
                line,
                refused.status,
                refused.message,
              ]);
              expect(answer.headers['www-authenticate']).toBe(refused.status === 401 ? 'Bearer' : undefined);
            }
          }
        }
      });
    });

    it('C3.1 takes the api-key header, and Authorization when both are sent', async () => {
      service.auth.enabled = true;
      const path = '/collections/c/points/count';
      const byKey = await send(service, 'POST', path, { headers: { 'api-key': 'token-read' } });
      expect(byKey.status).toBe(200);
      const both = await send(service, 'POST', path, {
        headers: { 'api-key': 'token-read', authorization: 'Bearer nonsense' },
      });
      expect(both.status).toBe(401);
    });

    it('C3.8 calls the store damaged only where the query for a credential has found that', async () => {
      service.auth.enabled = true;
      const ask = async () => {
        const headers = { authorization: 'Bearer token-read' };
        const { status, body } = await send(service, 'POST', '/collections/c/points/count', { headers });
        return [status, body.status.error];
      };
      try {
        service.auth.failure = () => new Error('the store is busy');
        expect(await ask()).toEqual([500, 'Internal server error']);
        service.auth.failure = () => {
          service.auth.isClosed = true;
          return new Error('a row that is not as its digest says');
        };
        expect(await ask()).toEqual([
          500,
          'Authentication operation failed: the store of authentication is damaged',
        ]);
      } finally {
        service.auth.failure = undefined;
        service.auth.isClosed = false;
      }
    });

    it.each([true, false])(
      'C3.8 serves nobody where a node may be out of date, enabled: %s',
      async (enabled) => {
        service.auth.enabled = enabled;
        service.auth.isOutdated = true;
        try {
          const headers = { authorization: 'Bearer token-read' };
          const answer = await send(service, 'POST', '/collections/c/points/count', { headers });
          expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
          expect(answer.body.status.error).toMatch(/does not hear from the log of its cluster/);
        } finally {
          service.auth.isOutdated = false;
        }
      },
    );

    it.each([
      ['Authorization: Bearer jwt', 'Authorization: Bearer jwt'],
      ['Authorization: Bearer jwt', 'authorization: Bearer nonsense'],
      ['api-key: token-read', 'API-Key: token-read'],
      ['Authorization: Bearer jwt', 'api-key: token-read', 'api-key: token-read'],
    ])('C3.3 takes no credential that is sent twice: %s', async (...credentials) => {
      const head = (path: string): string =>
        [`POST ${path} HTTP/1.1`, 'Host: x', ...credentials, 'Connection: close', 'Content-Length: 2'].join(
          '\r\n',
        );
      for (const path of [
        '/collections/c/points/count',
        '/auth/access_token',
        '/auth/admin/reset-password',
      ]) {
        service.auth.enabled = true;
        const refused = await sendRaw(service, `${head(path)}\r\nContent-Type: application/json\r\n\r\n{}`);
        expect(refused).toMatch(/^HTTP\/1\.1 401 /);
        expect(refused).toContain(UNAUTHENTICATED);
      }
      service.auth.enabled = false;
      const ignored = await sendRaw(
        service,
        `${head('/collections/c/points/count')}\r\nContent-Type: application/json\r\n\r\n{}`,
      );
      expect(ignored).toMatch(/^HTTP\/1\.1 200 /);
    });

    it('C3.3 lets the reset of the password answer by itself where there is no admin', async () => {
      service.auth.adminExists = false;
      try {
        for (const state of STATES) {
          const headers: Record<string, string> =
            state === 'nothing' ? {} : { authorization: `Bearer ${state}` };
          expect((await send(service, 'POST', '/auth/admin/reset-password', { headers })).status).toBe(200);
          const setting = await send(service, 'PATCH', '/auth/enabled', { headers });
          expect(setting.status).toBe(state === 'jwt' ? 200 : CREDENTIALS[state] === undefined ? 401 : 403);
        }
      } finally {
        service.auth.adminExists = true;
      }
    });

    it('C3.9 does not check credentials of data endpoints while disabled', async () => {
      service.auth.enabled = false;
      service.auth.asked = 0;
      const answer = await send(service, 'POST', '/collections/c/points/count', {
        headers: { authorization: 'Bearer nonsense' },
      });
      expect(answer.status).toBe(200);
      expect(service.auth.asked).toBe(0);
    });

    it('C3.3 refuses a remote caller of a local endpoint', async () => {
      const answer = await send(service, 'POST', '/auth/admin', { headers: { 'x-test-remote': '1' } });
      expect(answer.status).toBe(403);
      expect(answer.body).toEqual({
        status: 'error',
        message: 'This endpoint can only be called from localhost',
      });
    });

    it('C3.8 refuses a bad host or origin everywhere but at the plain endpoints', async () => {
      for (const route of service.routes) {
        const answer = await send(service, route.method, concretePath(route), {
          headers: { 'x-test-refuse': '1' },
        });
        expect([route.path, answer.status]).toEqual([route.path, route.kind === 'plain' ? 200 : 403]);
      }
    });
  },
);
