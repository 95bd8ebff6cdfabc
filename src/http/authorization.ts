import type { IncomingMessage } from 'node:http';
import { forbidden, unauthenticated, type Failure } from './errors';
import type { RoutePermission } from './route';

/** A permission bit. The bits are independent: `admin` implies neither of the others (C3.14). */
export type Permission = 'read' | 'write' | 'admin';

/** Who a credential belongs to, and what it may do. */
export interface Identity {
  readonly kind: 'admin-jwt' | 'access-token' | 'anonymous';
  readonly permissions: ReadonlySet<Permission>;
  readonly tokenId?: number;
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
  /** Whether authentication is enabled now. */
  readonly enabled: boolean;
  /** The identity behind the headers, null for a missing or bad credential; synchronously when it is cached. */
  identify(
    authorization: string | undefined,
    apiKey: string | undefined,
  ): Identity | null | Promise<Identity | null>;
}

/** Whether the credentials of a request matter for a route, given the state of the setting (C3.9). */
export function needsIdentity(permission: RoutePermission, authEnabled: boolean): boolean {
  switch (permission) {
    case 'none':
    case 'local':
      return false;
    case 'token-admin':
    case 'admin-jwt':
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
  authEnabled: boolean,
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
      return authEnabled || identity?.permissions.has('admin') === true
        ? requirePermission('admin', identity)
        : forbidden('Access token API requires auth_enabled=true');
    case 'admin-jwt':
      if (identity === null) {
        return unauthenticated();
      }
      return identity.kind === 'admin-jwt' ? undefined : forbidden('Admin JWT required');
  }
}

function requirePermission(permission: Permission, identity: Identity | null): Failure | undefined {
  if (identity === null) {
    return unauthenticated();
  }
  return identity.permissions.has(permission)
    ? undefined
    : forbidden(`Permission denied: ${permission} required`);
}
