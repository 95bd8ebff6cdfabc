import type { Identity, Permission } from '../http/authorization';

/** Every permission, in canonical order. */
export const PERMISSIONS: readonly Permission[] = ['read', 'write', 'admin'];

/** The identity of the admin's JWT, which has every permission (C3.14). */
export const ADMIN_IDENTITY: Identity = Object.freeze({
  kind: 'admin-jwt',
  permissions: new Set(PERMISSIONS),
});

/**
 * Parses a comma-separated list; spaces and repeats are allowed. Undefined for an unknown or an empty name.
 */
export function parsePermissions(text: string): ReadonlySet<Permission> | undefined {
  const names = namesIn(text);
  return names.every(isPermission) ? new Set(names) : undefined;
}

/** The first name of a list that is no permission; undefined when all are. */
export function unknownPermission(text: string): string | undefined {
  return namesIn(text).find((name) => !isPermission(name));
}

function namesIn(text: string): readonly string[] {
  return text.split(',').map((name) => name.trim());
}

/** The list in canonical order, without spaces or repeats. */
export function formatPermissions(permissions: ReadonlySet<Permission>): string {
  return PERMISSIONS.filter((permission) => permissions.has(permission)).join(',');
}

function isPermission(name: string): name is Permission {
  return (PERMISSIONS as readonly string[]).includes(name);
}
