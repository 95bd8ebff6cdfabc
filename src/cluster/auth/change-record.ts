/** The changes of the store of authentication as records of the log: JSON with a version of the format. */
import { CONTENT_SETTINGS, type StoreChange, type StoreContent } from '../../auth/store/change';
import { parseAuthState, type NewToken, type StoredAdmin, type StoredSetting } from '../../auth/store/port';
import { isCount, isObject, objectIn } from '../json';

/** The whole content after the record at the position `after`: nothing where another one came between. */
export interface StateRecord {
  readonly kind: 'state';
  readonly after: number;
  /** When the stream was created that was lost, and that this one goes on from; of the first record of a stream alone. */
  readonly lost?: string;
  readonly content: StoreContent;
}

/** What a node publishes. */
export type AuthRecord = Exclude<StoreChange, { readonly kind: 'replace_all' | 'nothing' }> | StateRecord;

const FORMAT = 1;

/** A later release wrote a record: what this one would make of it is not what the others make. */
export class LaterAuthRecord extends Error {
  override readonly name = 'LaterAuthRecord';

  constructor(what: string) {
    super(`the log of authentication has ${what}, which a later release of KithDB wrote: upgrade this node`);
  }
}

export function encodeRecord(record: AuthRecord): Uint8Array {
  return Buffer.from(JSON.stringify({ format: FORMAT, ...fieldsOf(record) }));
}

function fieldsOf(record: AuthRecord): object {
  switch (record.kind) {
    case 'create_token':
    case 'put_initial_token':
      return { kind: record.kind, token: withHex(record.token) };
    case 'replace_digest':
      return { ...record, digest: record.digest.toString('hex') };
    case 'store_setting':
      return { ...record, over: record.over && { value: record.over.value ?? null } };
    case 'state': {
      const { admin, settings, tokens, lastTokenId } = record.content;
      const content = {
        ...{ admin, settings: [...settings], tokens: tokens.map(withHex), lastTokenId },
      };
      return { ...record, content };
    }
    case 'create_admin':
    case 'replace_admin':
    case 'delete_token':
      return record;
  }
}

function withHex(token: { readonly digest: Buffer }): object {
  return { ...token, digest: token.digest.toString('hex') };
}

/**
 * The record that bytes are; undefined for bytes that no release writes.
 * @throws LaterAuthRecord
 */
export function decodeRecord(payload: Uint8Array): AuthRecord | undefined {
  const value = objectIn(payload);
  if (value === undefined) return undefined;
  const { format, kind } = value;
  if (typeof format !== 'number' || typeof kind !== 'string') return undefined;
  if (format > FORMAT) throw new LaterAuthRecord(`a record of format ${format}`);
  if (!Object.hasOwn(READERS, kind)) throw new LaterAuthRecord(`a record ${kind}`);
  return READERS[kind as AuthRecord['kind']](value);
}

type Fields = Readonly<Record<string, unknown>>;

const READERS: Readonly<Record<AuthRecord['kind'], (fields: Fields) => AuthRecord | undefined>> = {
  create_admin: (fields) => {
    const admin = adminOf(fields['admin']);
    return admin && { kind: 'create_admin', admin };
  },
  replace_admin: ({ admin: value, generation }) => {
    const admin = adminOf(value);
    if (admin === undefined || !(generation === undefined || typeof generation === 'string'))
      return undefined;
    return { kind: 'replace_admin', admin, generation };
  },
  store_setting: ({ name, value, over }) => {
    const before = beforeOf(over);
    if (!isSetting(name) || !isValueOf(name, value) || before === undefined) return undefined;
    return { kind: 'store_setting', name, value, over: before.over };
  },
  create_token: (fields) => {
    const token = newTokenOf(fields['token']);
    return token && { kind: 'create_token', token };
  },
  put_initial_token: (fields) => {
    const token = newTokenOf(fields['token']);
    return token && { kind: 'put_initial_token', token };
  },
  replace_digest: ({ id, digest: value, now }) => {
    const digest = digestOf(value);
    if (!isCount(id) || !isCount(now) || digest === undefined) return undefined;
    return { kind: 'replace_digest', id, digest, now };
  },
  delete_token: ({ id }) => (isCount(id) ? { kind: 'delete_token', id } : undefined),
  state: ({ after, lost, content: value }) => {
    const content = contentOf(value);
    if (!isCount(after) || content === undefined) return undefined;
    if (!(lost === undefined || typeof lost === 'string')) return undefined;
    return { kind: 'state', after, content, ...(lost !== undefined && { lost }) };
  },
};

function adminOf(value: unknown): StoredAdmin | undefined {
  if (!isObject(value)) return undefined;
  const { passwordHash, generation } = value;
  if (typeof passwordHash !== 'string' || typeof generation !== 'string') return undefined;
  return { passwordHash, generation };
}

function isSetting(name: unknown): name is StoredSetting {
  return CONTENT_SETTINGS.some((one) => one === name);
}

function isValueOf(name: StoredSetting, value: unknown): value is string {
  return typeof value === 'string' && (name !== 'auth_enabled' || parseAuthState(value) !== undefined);
}

function beforeOf(
  over: unknown,
): { readonly over: { readonly value: string | undefined } | undefined } | undefined {
  if (over === undefined) return { over: undefined };
  if (!isObject(over)) return undefined;
  const { value } = over;
  if (value === null) return { over: { value: undefined } };
  return typeof value === 'string' ? { over: { value } } : undefined;
}

/** A SHA-256 in hexadecimal, as its bytes. */
function digestOf(value: unknown): Buffer | undefined {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value) ? Buffer.from(value, 'hex') : undefined;
}

function newTokenOf(value: unknown): NewToken | undefined {
  if (!isObject(value)) return undefined;
  const { name, description, permission, createdAt, expiresAt, limits } = value;
  const digest = digestOf(value['digest']);
  const isText = typeof name === 'string' && typeof permission === 'string';
  if (!isText || !isTextOrNull(description) || digest === undefined) return undefined;
  if (!isCount(createdAt) || !(expiresAt === null || isCount(expiresAt))) return undefined;
  if (!(limits === undefined || typeof limits === 'string')) return undefined;
  return {
    ...{ name, description, permission, createdAt, expiresAt, digest },
    ...(limits !== undefined && { limits }),
  };
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}

function contentOf(value: unknown): StoreContent | undefined {
  if (!isObject(value)) return undefined;
  const { lastTokenId } = value;
  const admin = value['admin'] === undefined ? undefined : adminOf(value['admin']);
  const settings = settingsOf(value['settings']);
  const tokens = tokensOf(value['tokens']);
  if (settings === undefined || tokens === undefined || !isCount(lastTokenId)) return undefined;
  if (admin === undefined && value['admin'] !== undefined) return undefined;
  return { admin, settings, tokens, lastTokenId };
}

function settingsOf(value: unknown): ReadonlyMap<StoredSetting, string> | undefined {
  if (!Array.isArray(value)) return undefined;
  const settings = new Map<StoredSetting, string>();
  for (const entry of value as readonly unknown[]) {
    if (!Array.isArray(entry)) return undefined;
    const [name, text] = entry as readonly unknown[];
    if (!isSetting(name) || !isValueOf(name, text)) return undefined;
    settings.set(name, text);
  }
  return settings.has('auth_enabled') ? settings : undefined;
}

function tokensOf(value: unknown): StoreContent['tokens'] | undefined {
  if (!Array.isArray(value)) return undefined;
  const tokens: StoreContent['tokens'][number][] = [];
  for (const entry of value as readonly unknown[]) {
    const token = newTokenOf(entry);
    const id = isObject(entry) ? entry['id'] : undefined;
    if (token === undefined || !isCount(id)) return undefined;
    tokens.push({ id, ...token });
  }
  return tokens;
}
