import express, { type RequestHandler } from 'express';
import type { Authenticator, Identity, OriginGuard, Permission } from '../../src/http/authorization';
import type { AuthRoute } from '../../src/http/route-table';

const identity = (kind: Identity['kind'], ...permissions: Permission[]): Identity => ({
  kind,
  permissions: new Set(permissions),
});

/** The credentials that {@link FakeAuth} knows, by token. */
export const CREDENTIALS: Readonly<Record<string, Identity>> = {
  jwt: identity('admin-jwt', 'read', 'write', 'admin'),
  'token-read': identity('access-token', 'read'),
  'token-write': identity('access-token', 'write'),
  'token-admin': identity('access-token', 'admin'),
  'token-all': identity('access-token', 'read', 'write', 'admin'),
};

/** Authentication over a fixed set of tokens, answering at once or late. */
export class FakeAuth implements Authenticator {
  isClosed = false;
  isOutdated = false;
  enabled = false;
  adminExists = true;
  late = false;
  /** What the query for a token comes to, in place of an answer. */
  failure: (() => Error) | undefined;
  asked = 0;

  identify(
    authorization: string | undefined,
    apiKey: string | undefined,
  ): Identity | null | Promise<Identity | null> {
    this.asked += 1;
    if (this.failure !== undefined) return Promise.reject(this.failure());
    const token = authorization === undefined ? apiKey : /^bearer +(.+)$/i.exec(authorization)?.[1];
    const found = CREDENTIALS[token ?? ''] ?? null;
    return this.late ? Promise.resolve(found) : found;
  }
}

/** Refuses by headers that a test sets, in place of real addresses. */
export const fakeGuard: OriginGuard = {
  refuse: (request) => (request.headers['x-test-refuse'] === undefined ? undefined : 'Host not allowed'),
  refuseRemote: (request) =>
    request.headers['x-test-remote'] === undefined
      ? undefined
      : 'This endpoint can only be called from localhost',
};

const answer: RequestHandler = (request, response) => {
  response.json({ path: request.path, body: request.body as unknown });
};
const fail: RequestHandler = () => {
  throw new Error('a secret cause');
};
const json = express.json({ limit: 65_536 });

/** The routes under `/auth` with their permissions, and handlers that only answer. */
export const fakeAuthRoutes: readonly AuthRoute[] = [
  { kind: 'auth', method: 'POST', path: '/auth/admin', permission: 'local', handlers: [json, answer] },
  {
    kind: 'auth',
    method: 'POST',
    path: '/auth/admin/reset-password',
    permission: 'known-admin',
    handlers: [json, answer],
  },
  { kind: 'auth', method: 'POST', path: '/auth/admin/login', permission: 'none', handlers: [json, answer] },
  { kind: 'auth', method: 'GET', path: '/auth/admin/exists', permission: 'none', handlers: [answer] },
  { kind: 'auth', method: 'PATCH', path: '/auth/enabled', permission: 'admin-jwt', handlers: [json, answer] },
  {
    kind: 'auth',
    method: 'POST',
    path: '/auth/access_token',
    permission: 'token-admin',
    handlers: [json, answer],
  },
  {
    kind: 'auth',
    method: 'GET',
    path: '/auth/access_tokens',
    permission: 'token-admin',
    handlers: [answer],
  },
  {
    kind: 'auth',
    method: 'DELETE',
    path: '/auth/access_token/:id',
    permission: 'token-admin',
    handlers: [answer],
  },
  { kind: 'auth', method: 'POST', path: '/auth/broken', permission: 'none', handlers: [fail] },
];
