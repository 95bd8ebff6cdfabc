import type { Identity, Permission } from '../auth/permissions';
import { forbidden, unauthenticated, type Failure } from './errors';
import type { RoutePermission } from './route';

/** What the chain of checks needs of authentication. */
export interface Authenticator {
  /** Whether authentication is enabled now. */
  readonly enabled: boolean;
  /** The identity behind the headers, null for no or a bad credential; at once when it is known already. */
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
