import type { AuditFields } from '../http/audit-fields';
import type { Permission } from '../http/authorization';
import { digestOf, generateToken } from './access-token';
import { limitFields, readLimits, type FilterCheck, type LimitFields } from './limits';
import { formatPermissions, parsePermissions, unknownPermission } from './permissions';
import type { StoredToken, TokenStore } from './store/port';

/** What a caller asks of a new access token. */
export interface TokenRequest {
  readonly name: string;
  readonly description: string | null;
  readonly permissions: ReadonlySet<Permission>;
  /** Null for a token that does not expire. */
  readonly lifetimeSeconds: number | null;
  /** What it may reach, as it is stored; all where absent (C15). */
  readonly limits?: string | undefined;
}

/** A token whose raw value is shown this once. */
export interface IssuedToken {
  readonly stored: StoredToken;
  readonly raw: string;
}

/** Makes a token in a store (C3.10). `nowMs` is milliseconds since 1970. */
export async function issueToken(
  store: TokenStore,
  request: TokenRequest,
  nowMs: number,
): Promise<IssuedToken> {
  const raw = generateToken();
  const createdAt = Math.floor(nowMs / 1000);
  const stored = await store.createToken({
    name: request.name,
    description: request.description,
    digest: digestOf(raw),
    permission: formatPermissions(request.permissions),
    createdAt,
    expiresAt: request.lifetimeSeconds === null ? null : createdAt + request.lifetimeSeconds,
    ...(request.limits !== undefined && { limits: request.limits }),
  });
  return { stored, raw };
}

/** Gives a token of a store another raw value (C3.11). */
export async function reissueToken(
  store: TokenStore,
  id: number,
  nowMs: number,
): Promise<IssuedToken | 'unknown' | 'expired'> {
  const raw = generateToken();
  const stored = await store.replaceDigest(id, digestOf(raw), Math.floor(nowMs / 1000));
  if (stored === undefined) {
    return (await store.token(id)) === undefined ? 'unknown' : 'expired';
  }
  return { stored, raw };
}

/** An access token as every interface shows it. */
export interface TokenResource extends LimitFields {
  readonly id: number;
  readonly name: string;
  readonly description: string | null;
  /** The raw value, of one that was just made. */
  readonly token?: string;
  /** RFC 3339, UTC. */
  readonly created_at: string;
  readonly expired_at: string | null;
  readonly will_expire: boolean;
  readonly permission: string;
}

/** A token as it is shown; `raw` where it was just made. */
export function tokenResource(token: StoredToken, raw?: string): TokenResource {
  return {
    id: token.id,
    name: token.name,
    description: token.description,
    ...(raw !== undefined && { token: raw }),
    created_at: rfc3339(token.createdAt),
    expired_at: token.expiresAt === null ? null : rfc3339(token.expiresAt),
    will_expire: token.expiresAt !== null,
    permission: token.permission,
    ...(token.limits !== undefined && limitFields(token.limits)),
  };
}

/** What the audit stream says of a token: not its value, nor the filter, which may hold data. */
export function auditedToken({ id, name, permission, collections, filter }: TokenResource): AuditFields {
  return {
    id,
    name,
    permission,
    ...(collections !== undefined && { collections }),
    ...(filter !== undefined && { filtered: true }),
  };
}

function rfc3339(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}

export const TOKEN_NOT_FOUND = 'Access token not found';
export const TOKEN_EXPIRED = 'Cannot rotate an expired access token';

const MAX_NAME_CHARACTERS = 255;
/** Ten years. */
const LONGEST_LIFETIME_SECONDS = 315_360_000;
/** Characters of an unknown permission that its refusal repeats. */
const MAX_ECHOED = 64;

/** Why a name is refused: a sentence; undefined for one that is not. */
export function refuseTokenName(value: unknown): string | undefined {
  const characters = isStorableText(value) ? Array.from(value).length : 0;
  return characters >= 1 && characters <= MAX_NAME_CHARACTERS
    ? undefined
    : `name must be a string of 1 to ${MAX_NAME_CHARACTERS} characters, none of them NUL`;
}

/** Why a `permission` is refused: a sentence that names the part that is unknown. */
export function refusePermission(value: unknown): string | undefined {
  const rule = 'permission must be a comma-separated list of read, write and admin';
  if (typeof value !== 'string') {
    return rule;
  }
  const unknown = unknownPermission(value);
  return unknown === undefined
    ? undefined
    : `${rule}: ${JSON.stringify(Array.from(unknown).slice(0, MAX_ECHOED).join(''))} is none of them`;
}

/** Why a description is refused. */
export function refuseDescription(value: unknown): string | undefined {
  return isStorableText(value) ? undefined : 'description must be a string without NUL';
}

/** Why a lifetime is refused. */
export function refuseLifetime(value: unknown): string | undefined {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= LONGEST_LIFETIME_SECONDS
    ? undefined
    : `expires_in_seconds must be a whole number from 1 to ${LONGEST_LIFETIME_SECONDS}`;
}

/** A text that every store returns whole: Node's own SQLite truncates a text at its first NUL. */
function isStorableText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0');
}

/** The fields of a new token, which may be anything. */
export interface TokenFields {
  readonly name?: unknown;
  readonly permission?: unknown;
  readonly description?: unknown;
  /** Null for a token that does not expire. */
  readonly lifetimeSeconds?: unknown;
  /** What it may reach (C15). */
  readonly collections?: unknown;
  readonly filter?: unknown;
}

/** The request of fields, or why they are refused: a sentence. */
export function readTokenRequest(fields: TokenFields, check: FilterCheck): TokenRequest | string {
  const { name, permission, description = null, lifetimeSeconds = null, collections, filter } = fields;
  const refused =
    refuseTokenName(name) ??
    refusePermission(permission) ??
    (description === null ? undefined : refuseDescription(description)) ??
    (lifetimeSeconds === null ? undefined : refuseLifetime(lifetimeSeconds));
  if (refused !== undefined) {
    return refused;
  }
  const permissions = parsePermissions(permission as string) ?? new Set<Permission>();
  const limits = readLimits(collections, filter, check);
  if (typeof limits === 'object') {
    return limits.refused;
  }
  if (limits !== undefined && permissions.has('admin')) {
    return 'An access token with collections or filter cannot have the permission admin';
  }
  return {
    name: storable(name as string),
    description: description === null ? null : storable(description as string),
    permissions,
    lifetimeSeconds: lifetimeSeconds as number | null,
    ...(limits !== undefined && { limits }),
  };
}

/** The text as it is read back from the store (UTF-8), so that this answer equals later ones. */
function storable(text: string): string {
  return Buffer.from(text).toString();
}
