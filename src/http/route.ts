import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * What a caller must hold to use a route. `none`: nothing. `admin-jwt`: the admin's own JWT in either state of
 * the setting (C3.7). `known-admin`: the same where there is an admin; without one the route answers by itself (C3.3).
 * `local`: a direct local caller (C3.3). `token-admin`: C3.9 and C3.13. `any`: any valid
 * credential (C8). The rest are permission bits (C3.14).
 */
export type RoutePermission =
  'none' | 'any' | 'read' | 'write' | 'token-admin' | 'admin-jwt' | 'known-admin' | 'local';

/** HTTP methods that the service routes. */
export type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';

/** What a handler gets: request and response, and what the chain of checks has found. */
export interface RouteContext {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Path parameters, percent-decoded once. */
  readonly params: Readonly<Record<string, string>>;
  /** The raw query string, without `?`. */
  readonly queryString: string;
  readonly requestId: string;
  /** `performance.now()` at arrival. */
  readonly arrivedAt: number;
}
