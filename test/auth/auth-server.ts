import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import pino from 'pino';
import supertest from 'supertest';
import {
  AUTH_BODY_BYTES,
  authRoutes,
  openAuth,
  originGuard,
  type AuthConfig,
  type AuthService,
  type ProcessAuth,
} from '../../src/auth';
import { LocalLoginThrottle } from '../../src/auth/login-throttle';
import { LocalPasswordHasher, type HashCost } from '../../src/auth/password-hashing';
import { DEFAULT_PACE } from '../../src/http/body';
import { ClientAddresses } from '../../src/http/client-address';
import { createHttpServer } from '../../src/http/http-server';
import { Deferred } from '../../src/http/deferred';
import { DIALECTS } from '../../src/http/dialect';
import type { RequestCounts } from '../../src/http/request-counts';
import { Lifecycle } from '../../src/http/lifecycle';
import { httpListeners } from '../../src/http/listener';
import { localProcessState } from '../../src/process/state';
import { allRoutes } from '../../src/routes';
import { mustBeDescribed } from '../openapi/description';

export const PASSWORD = 'Correct-horse-7-staple';

/** The settings of a first start in memory, with nothing configured. */
export const AUTH_CONFIG: AuthConfig = {
  dataDir: '/nowhere',
  tokenStore: 'memory',
  jwtSecret: undefined,
  jwtTtlSeconds: 3600,
  authEnabled: undefined,
  adminPassword: undefined,
  adminPasswordProblem: undefined,
  generateAdminPassword: false,
  accessToken: undefined,
  accessTokenPermission: 'read,write',
};

/** What authentication counts for the whole process, with nothing counted yet. */
export function processAuth(): ProcessAuth {
  return localProcessState({ maxBodyBytes: 4096, maxConnections: 256 }).auth;
}

/** A service whose engine never becomes ready: what passes authentication is a 412 on data endpoints. */
export interface AuthServer {
  readonly auth: AuthService;
  /** Its answers must be as `openapi.yaml` describes them. */
  readonly client: ReturnType<typeof supertest.agent>;
  readonly server: Server;
  readonly logged: string[];
  readonly requests: RequestCounts;
  /** Milliseconds since 1970, by which tokens expire and logins are throttled; tests move it. */
  readonly clock: { now: number };
  /** A JWT of the admin, who exists when the configuration has a password. */
  readonly login: () => Promise<string>;
  readonly close: () => Promise<void>;
}

/** How a server is reached, and what its hashes of passwords cost. */
interface Surroundings {
  readonly host?: string;
  readonly corsOrigins?: readonly string[];
  readonly trustedProxies?: readonly string[];
  readonly hashCost?: HashCost | undefined;
}

/** Most tests are about what is hashed when, and not about the cost of a hash. */
const LITTLE: HashCost = { memoryKib: 64, passes: 1 };

/** Starts real authentication behind the real chain of checks. */
export async function startAuth(
  overrides: Partial<AuthConfig> = {},
  { hashCost = LITTLE, ...listening }: Surroundings = {},
): Promise<AuthServer> {
  const logged: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => logged.push(line) });
  const clock = { now: Date.now() };
  const lifecycle = new Lifecycle();
  const {
    admission,
    requests,
    auth: counted,
  } = localProcessState({ maxBodyBytes: 4096, maxConnections: 256 });
  const throttle = new LocalLoginThrottle(() => clock.now);
  const hasher = new LocalPasswordHasher(hashCost);
  const auth = await openAuth(
    { ...AUTH_CONFIG, ...overrides },
    log,
    { ...counted, throttle, hasher },
    {
      now: () => clock.now,
      showPassword: (password) => logged.push(`shown ${password}`),
    },
  );
  const corsOrigins = listening.corsOrigins ?? [];
  const clients = new ClientAddresses(listening.trustedProxies ?? []);
  const listeners = httpListeners({
    dialect: DIALECTS.specification,
    routes: allRoutes({
      authRoutes: authRoutes(Promise.resolve(auth), clients, requests),
      lifecycle,
      requests,
      kithdbVersion: '0.1.0',
    }),
    requests,
    admission,
    addresses: new ClientAddresses([]),
    auth: Deferred.of(auth),
    guard: originGuard({ host: listening.host ?? '127.0.0.1', corsOrigins }),
    lifecycle,
    log,
    bodyPace: DEFAULT_PACE,
    corsOrigins,
    limits: {
      bodyBytes: 4096,
      authBodyBytes: AUTH_BODY_BYTES,
    },
  });
  const server = createHttpServer(listeners);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = supertest.agent(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  client.use((request: supertest.Test) => {
    request.expect(({ status, headers, text }) => {
      const { method, url } = request;
      mustBeDescribed({ method, path: url, status, headers, text });
    });
  });
  return {
    auth,
    client,
    server,
    logged,
    requests,
    clock,
    login: async () => {
      const { body } = await client.post('/auth/admin/login').send({ password: PASSWORD }).expect(200);
      return String(body.token);
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await auth.close();
    },
  };
}

/** The header that carries a credential. */
export function bearer(token: string): { Authorization: string } {
  return { Authorization: `Bearer ${token}` };
}
