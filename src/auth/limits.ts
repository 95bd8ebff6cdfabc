import type { CollectionGrant, TokenLimits } from '../http/token-limits';
import { formatPermissions, parsePermissions } from './permissions';

/** What a token may reach, as it is asked for, stored and shown (C15). */
export interface LimitFields {
  /** All collections where absent. */
  readonly collections?: readonly {
    readonly name?: string;
    readonly prefix?: string;
    readonly permission: string;
  }[];
  /** All points where absent. */
  readonly filter?: object;
}

/** Says what is wrong with a filter for a token, as the engine reads it; undefined for one that is good. */
export type FilterCheck = (text: string) => string | undefined;

const MAX_COLLECTIONS = 100;
const MAX_NAME_CHARACTERS = 255;
/** Bytes of the filter as JSON. */
const MAX_FILTER_BYTES = 8192;

/**
 * The limits as they are stored: JSON; undefined where there are none. The engine checks the filter.
 * @returns why they are refused, as an object with a sentence.
 */
export function readLimits(
  collections: unknown,
  filter: unknown,
  check: FilterCheck,
): string | undefined | { readonly refused: string } {
  const grants = collections === undefined || collections === null ? undefined : readGrants(collections);
  if (typeof grants === 'string') {
    return { refused: grants };
  }
  const isFiltered = filter !== undefined && filter !== null;
  const refused = isFiltered ? refuseFilter(filter, check) : undefined;
  if (refused !== undefined) {
    return { refused };
  }
  return grants === undefined && !isFiltered
    ? undefined
    : JSON.stringify({
        ...(grants !== undefined && { collections: grants }),
        ...(isFiltered && { filter }),
      });
}

/** The list of collections in its canonical form, or why it is refused. */
function readGrants(value: unknown): LimitFields['collections'] | string {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_COLLECTIONS) {
    return `collections must be a list of 1 to ${MAX_COLLECTIONS} objects`;
  }
  const grants = value.map((entry: unknown, at) => readGrant(entry, `collections[${at}]`));
  return grants.find((grant) => typeof grant === 'string') ?? (grants as LimitFields['collections']);
}

type Grant = NonNullable<LimitFields['collections']>[number];

function readGrant(entry: unknown, place: string): Grant | string {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    return `${place} must be an object with name or prefix, and permission`;
  }
  const { name, prefix, permission, ...rest } = entry as Record<string, unknown>;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    return `${place} has the unknown field ${JSON.stringify(unknown.slice(0, MAX_NAME_CHARACTERS))}`;
  }
  if ((name === undefined) === (prefix === undefined)) {
    return `${place} must have either name or prefix`;
  }
  const text = name ?? prefix;
  const field = `${place}.${name === undefined ? 'prefix' : 'name'}`;
  const characters = typeof text === 'string' && !text.includes('\0') ? Array.from(text).length : 0;
  if (characters < 1 || characters > MAX_NAME_CHARACTERS) {
    return `${field} must be a string of 1 to ${MAX_NAME_CHARACTERS} characters`;
  }
  if ((text as string).normalize('NFC') !== text) {
    return `${field} must be in Unicode's normal form C, as the names of collections are: it would be that of none`;
  }
  const permissions = typeof permission === 'string' ? parsePermissions(permission) : undefined;
  if (permissions === undefined || permissions.has('admin')) {
    return `${place}.permission must be a comma-separated list of read and write`;
  }
  const shown = { permission: formatPermissions(permissions) };
  // As they are read back from the store (UTF-8).
  const stored = Buffer.from(text).toString();
  return name === undefined ? { prefix: stored, ...shown } : { name: stored, ...shown };
}

function refuseFilter(filter: unknown, check: FilterCheck): string | undefined {
  if (typeof filter !== 'object' || Array.isArray(filter)) {
    return 'filter must be an object';
  }
  if (hasUnsafeInteger(filter)) {
    return 'filter must have no integers beyond 2^53, which JSON parsers do not keep';
  }
  const text = JSON.stringify(filter);
  if (Buffer.byteLength(text) > MAX_FILTER_BYTES) {
    return `filter must have at most ${MAX_FILTER_BYTES} bytes`;
  }
  return check(text);
}

/**
 * The body was parsed with the numbers of JavaScript, where integers beyond 2^53 are other ones, or infinite: that would be
 * stored as null, which is no bound of a range.
 */
function hasUnsafeInteger(value: unknown): boolean {
  if (typeof value === 'number') {
    return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
  }
  return typeof value === 'object' && value !== null && Object.values(value).some(hasUnsafeInteger);
}

/** The fields of stored limits, as they are shown. */
export function limitFields(text: string): LimitFields {
  return JSON.parse(text) as LimitFields;
}

/** What a token with stored limits may reach. */
export function tokenLimits(text: string): TokenLimits {
  const { collections, filter } = limitFields(text);
  return {
    collections: collections?.map(({ name, prefix, permission }): CollectionGrant => ({
      name,
      prefix,
      permissions: parsePermissions(permission) ?? new Set(),
    })),
    hasFilter: filter !== undefined,
    text,
  };
}
