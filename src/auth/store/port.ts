import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SettingBefore } from './change';

/** The admin as it is stored. There is one or none. */
export interface StoredAdmin {
  /** A PHC string. */
  readonly passwordHash: string;
  /** A random value that changes with every password reset; a JWT names the one it was issued under (C3.5). */
  readonly generation: string;
}

/** An access token as it is stored: never the token itself. */
export interface StoredToken {
  /** Positive, never used again after a deletion. */
  readonly id: number;
  readonly name: string;
  readonly description: string | null;
  /** In canonical order, separated by commas. */
  readonly permission: string;
  /** Seconds since 1970. */
  readonly createdAt: number;
  /** Seconds since 1970; the token is invalid from this second on. Null when it does not expire. */
  readonly expiresAt: number | null;
  /** What it may reach: JSON; all where absent (C15). */
  readonly limits?: string;
}

/** A token before it has an id. */
export interface NewToken extends Omit<StoredToken, 'id'> {
  /** SHA-256 of the raw token, 32 bytes. */
  readonly digest: Buffer;
}

/**
 * Values that are stored under a name. `replaced_jwt_secrets` has the SHA-256 of the secrets before the present one, in
 * hexadecimal, newest first, separated by spaces.
 */
export type StoredSetting = 'jwt_secret' | 'replaced_jwt_secrets' | 'auth_enabled' | 'initial_token';

/** Settings that no backup has and that the digest of the store leaves out: without them a new secret is made (C3.5). */
export const SECRET_SETTINGS: ReadonlySet<string> = new Set<StoredSetting>([
  'jwt_secret',
  'replaced_jwt_secrets',
]);

/** The values of `auth_enabled`: `undecided` counts as disabled, until somebody decides (C3.8). */
export const AUTH_STATES = ['true', 'false', 'undecided'] as const;
export type AuthState = (typeof AUTH_STATES)[number];

/** The value of `auth_enabled` as it is stored; undefined for any other text, and where there is none. */
export function parseAuthState(text: string | undefined): AuthState | undefined {
  return AUTH_STATES.find((state) => state === text);
}

/** The access token that the settings gave (C11.2), which may have been rotated or deleted since. */
export interface InitialToken {
  readonly id: number;
  /** SHA-256 of the last value that a setting gave it. */
  readonly digest: Buffer;
}

/** The value of `initial_token` as it is stored: the id, and the digest in hexadecimal. */
export function initialTokenText({ id, digest }: InitialToken): string {
  return `${id} ${digest.toString('hex')}`;
}

/** The token of such a text. @throws Error for any other one. */
export function parseInitialToken(text: string): InitialToken {
  const [, id, digest] = /^([1-9]\d{0,15}) ([0-9a-f]{64})$/.exec(text) ?? [];
  if (id === undefined || digest === undefined) {
    throw new Error('the setting initial_token has no value that is known');
  }
  return { id: Number(id), digest: Buffer.from(digest, 'hex') };
}

/**
 * What authentication keeps between starts. Every change is durable when its promise resolves, and happens whole or not
 * at all, so that calls may overlap. One process at a time has a store open. `auth_enabled` always has a value.
 */
export interface TokenStore {
  readonly kind: 'sqlite3' | 'node-sqlite' | 'memory';
  /** What was found damaged since the store was opened: from then on every call fails with it. */
  readonly fault: StoreDamaged | undefined;
  /**
   * Whether the store may lack changes that other nodes of its cluster made longer ago than may be: what it says must not
   * be relied on. Never so without a cluster.
   */
  readonly isOutdated: boolean;

  admin(): Promise<StoredAdmin | undefined>;
  /** False when there is an admin already. */
  createAdmin(admin: StoredAdmin): Promise<boolean>;
  /** False when there is no admin, or, where a generation is given, none of that one. */
  replaceAdmin(admin: StoredAdmin, generation?: string): Promise<boolean>;

  setting(name: StoredSetting): Promise<string | undefined>;
  /** False when the setting does not have the value that is given as the one `over` which this one is stored. */
  storeSetting(name: StoredSetting, value: string, over?: SettingBefore): Promise<boolean>;

  createToken(token: NewToken): Promise<StoredToken>;
  /** The access token that the settings gave; undefined where they never gave one. */
  initialToken(): Promise<InitialToken | undefined>;
  /**
   * Gives the access token of the settings the value of `token`, or makes it where there is none (any more), and
   * remembers both. Where nobody has decided on authentication it is enabled. All of this is one change.
   */
  putInitialToken(token: NewToken): Promise<StoredToken>;
  /** Oldest first. */
  tokens(): Promise<readonly StoredToken[]>;
  token(id: number): Promise<StoredToken | undefined>;
  tokenByDigest(digest: Buffer): Promise<StoredToken | undefined>;
  /** Replaces the digest of a token that has not expired at `now` (seconds); undefined when there is none such. */
  replaceDigest(id: number, digest: Buffer, now: number): Promise<StoredToken | undefined>;
  /** False when there was none. */
  deleteToken(id: number): Promise<boolean>;

  /**
   * Compares the store with the catalog of the engine, and notes in that what it does not have yet. Every change from then
   * on is noted in it before it resolves. A store that is older is closed: {@link fault}.
   */
  compare(): Promise<void>;

  /**
   * Writes a consistent, durable copy without {@link SECRET_SETTINGS} to a new file, and its digest beside it; false when
   * there is nothing that could be copied.
   * @throws StoreDamaged when it cannot be read whole; then there is no file.
   */
  copyTo(path: string): Promise<boolean>;

  /**
   * Has a listener called after each change, also of another node of a cluster, before it counts as made: before who made it has
   * an answer, and before a node of a cluster says that it is up to date.
   */
  onChanged(listener: () => Promise<void>): void;

  /** Nothing may be called afterwards. */
  close(): Promise<void>;
}

/** What became of a change that the log of a cluster did not take, or did not confirm. */
const UNCONFIRMED = {
  unreachable: 'the log of the cluster cannot be reached: nothing was changed',
  full: 'the log servers of the cluster have no room left: nothing was changed',
  refused: 'the log of the cluster refused the change: nothing was changed',
  unknown: 'the log of the cluster did not confirm the change in time: it may have been made',
} as const;

/** A change of a store that the log of its cluster did not take, or did not confirm. */
export class ChangeNotConfirmed extends Error {
  override readonly name = 'ChangeNotConfirmed';

  constructor(
    readonly outcome: keyof typeof UNCONFIRMED,
    options?: ErrorOptions,
  ) {
    super(UNCONFIRMED[outcome], options);
  }
}

/** A change of a store that is only read: the directory of its node is served alone. */
export class StoreReadOnly extends Error {
  override readonly name = 'StoreReadOnly';

  constructor() {
    super(
      'this server serves the directory of a node of a cluster alone, and changes nothing: ask a node of the cluster',
    );
  }
}

/** The store belongs to a node of a cluster, and the caller is none. */
export class StoreOfCluster extends Error {
  override readonly name = 'StoreOfCluster';

  constructor(path: string) {
    super(
      `${path} belongs to a node of a cluster, whose admin, access tokens and settings are those of all nodes: start this node and try again, or ask another node over HTTP (kithdb token with --url, or the endpoints under /auth)`,
    );
  }
}

/** Another process has the store open: a server runs on the same data directory. */
export class StoreInUse extends Error {
  override readonly name = 'StoreInUse';

  constructor(path: string) {
    super(`${path} is in use: another KithDB process runs on this data directory${holderOf(path)}`);
  }
}

/**
 * What to do about a damaged store. SQLite applies the log beside a file to it, so the log of the damaged store would
 * damage the file that replaces it.
 */
export const RESTORE_STORE =
  'while no server runs on it, run `kithdb admin repair`, which keeps what verifies and leaves authentication enabled. Where a backup has this file, remove it before that together with auth.sqlite3-journal and auth.sqlite3-wal, and restore this file from there: of it the command keeps what is still in force';

/** The store is not what was written: a part of it is damaged, missing, or older than the digest beside it. */
export class StoreDamaged extends Error {
  override readonly name = 'StoreDamaged';

  constructor(path: string, what: string) {
    super(`${path} is damaged (${what}): ${RESTORE_STORE}`);
  }
}

/** What is wrong with an empty store beside data, which prove that it was filled. */
export const EMPTY_STORE = 'it is empty';
/** What is wrong with a damaged digest file. */
export const NO_CHECKSUM = 'it does not have its checksum';
/** What is wrong with a missing store beside data, which prove that there was one. */
export const MISSING_STORE = 'there is no such file';
/** What to do about a missing store; a server that keeps it in memory has none. */
export const RESTORE_MISSING_STORE =
  'restore this file and auth.digest from a backup while no server runs on it; of a server with KITHDB_TOKEN_STORE=memory there is none: give this command the same setting';

/** There is data without a store beside it. */
export class StoreMissing extends Error {
  override readonly name = 'StoreMissing';

  constructor(path: string) {
    super(`${path}: ${MISSING_STORE}: ${RESTORE_MISSING_STORE}`);
  }
}

/** What is wrong with a damaged or missing store; any other error is thrown again. */
export function damageOf(error: unknown): string {
  if (error instanceof StoreDamaged || error instanceof StoreMissing) {
    return error.message;
  }
  throw error;
}

/** Names the process that holds the data directory of a store, where its lock file says so (C18). */
function holderOf(path: string): string {
  try {
    const pid = readFileSync(join(dirname(path), 'lock'), 'utf8').trim();
    return /^\d{1,10}$/.test(pid) ? ` (process ${pid})` : '';
  } catch {
    return '';
  }
}
