import type { IncomingMessage } from 'node:http';
import { forbidden, unauthenticated, type Failure } from './errors';
import type { RoutePermission } from './route';
import type { TokenLimits } from './token-limits';

const AUTHORIZATION = 'authorization';
const API_KEY = 'api-key';

/** A permission bit. The bits are independent: `admin` implies neither of the others (C3.14). */
export type Permission = 'read' | 'write' | 'admin';

/** Who a credential belongs to, and what it may do. */
export interface Identity {
  readonly kind: 'admin-jwt' | 'access-token' | 'anonymous';
  readonly permissions: ReadonlySet<Permission>;
  readonly tokenId?: number;
  /** What an access token may reach; all where absent (C15). */
  readonly limits?: TokenLimits;
}

/** The parts of a request that say where it comes from: the peer of the socket and the headers. */
export type Caller = Pick<IncomingMessage, 'headers'> & {
  readonly httpVersion?: string;
  readonly socket: { readonly remoteAddress?: string | undefined };
};

/** Checks of where a request comes from; each gives the sentence of its 403, or undefined to let the request pass. */
export interface OriginGuard {
  /**
   * Refuses cross-origin requests, and DNS rebinding while authentication is disabled (C3.8): on a loopback address for
   * every caller, on others only for requests with an `Origin`, since proxies and clients may know the server by any
   * name.
   */
  refuse(request: Caller, authEnabled: boolean): string | undefined;
  /** Refuses every caller but a direct local one (C3.3). */
  refuseRemote(request: Caller): string | undefined;
}

/** What the chain of checks needs of authentication. */
export interface Authenticator {
  /** Whether the store of authentication is damaged: then nobody is served. */
  readonly isClosed: boolean;
  /** Whether this node of a cluster may lack what others have changed: then nobody is served. */
  readonly isOutdated: boolean;
  /** Whether authentication is enabled now. */
  readonly enabled: boolean;
  /** Whether there is an admin: without one there is no admin JWT. */
  readonly adminExists: boolean;
  /** The identity behind the headers, null for a missing or bad credential; synchronously when it is cached. */
  identify(
    authorization: string | undefined,
    apiKey: string | undefined,
  ): Identity | null | Promise<Identity | null>;
}

/**
 * Whether a request has one of its credentials (C3.1) twice. Node keeps the first `Authorization`; a proxy in front of this
 * server may have checked the last.
 * @param rawHeaders names and values, alternating
 */
export function repeatsCredential(rawHeaders: readonly string[]): boolean {
  let authorizations = 0;
  let apiKeys = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const { length } = rawHeaders[index] ?? '';
    if (length === AUTHORIZATION.length && rawHeaders[index]?.toLowerCase() === AUTHORIZATION) {
      authorizations += 1;
    } else if (length === API_KEY.length && rawHeaders[index]?.toLowerCase() === API_KEY) {
      apiKeys += 1;
    }
  }
  return authorizations > 1 || apiKeys > 1;
}

/** Whether the credentials of a request matter for a route, given the state of the setting (C3.9). */
export function needsIdentity(permission: RoutePermission, authEnabled: boolean): boolean {
  switch (permission) {
    case 'none':
    case 'local':
      return false;
    case 'token-admin':
    case 'admin-jwt':
    case 'known-admin':
      return true;
    case 'any':
    case 'read':
    case 'write':
      return authEnabled;
  }
}

/** Whether an identity may use a route that needs one; the failure if not. */
export function authorize(
  permission: RoutePermission,
  identity: Identity | null,
  auth: Pick<Authenticator, 'enabled' | 'adminExists'>,
): Failure | undefined {
  switch (permission) {
    case 'none':
    case 'local':
      return undefined;
    case 'any':
      return identity === null ? unauthenticated() : undefined;
    case 'read':
    case 'write':
      return requirePermission(permission, identity);
    case 'token-admin':
      return auth.enabled || identity?.permissions.has('admin') === true
        ? requirePermission('admin', identity)
        : forbidden('Access token API requires auth_enabled=true');
    case 'admin-jwt':
      return requireAdminJwt(identity);
    case 'known-admin':
      return auth.adminExists ? requireAdminJwt(identity) : undefined;
  }
}

function requireAdminJwt(identity: Identity | null): Failure | undefined {
  if (identity === null) {
    return unauthenticated();
  }
  return identity.kind === 'admin-jwt' ? undefined : forbidden('Admin JWT required');
}

function requirePermission(permission: Permission, identity: Identity | null): Failure | undefined {
  if (identity === null) {
    return unauthenticated();
  }
  return identity.permissions.has(permission)
    ? undefined
    : forbidden(`Permission denied: ${permission} required`);
}

/** Whose share of the server the requests of an identity count for; undefined where there is no credential. */
export function credentialOf(identity: Identity | null): string | undefined {
  if (identity === null || identity.kind === 'anonymous') {
    return undefined;
  }
  return identity.kind === 'admin-jwt' ? 'admin' : `token ${identity.tokenId ?? '?'}`;
}
