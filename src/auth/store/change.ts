import type { AuthState, NewToken, StoredAdmin, StoredSetting, StoredToken, TokenStore } from './port';

/** An access token with the SHA-256 of its raw value. */
export interface TokenWithDigest extends StoredToken {
  readonly digest: Buffer;
}

/** The settings of a content. */
export const CONTENT_SETTINGS: readonly StoredSetting[] = [
  'auth_enabled',
  'initial_token',
  'jwt_secret',
  'replaced_jwt_secrets',
];

/** Everything that a store has, secrets included. */
export interface StoreContent {
  readonly admin: StoredAdmin | undefined;
  readonly settings: ReadonlyMap<StoredSetting, string>;
  readonly tokens: readonly TokenWithDigest[];
  /** The highest id that a token ever had; 0 before the first. */
  readonly lastTokenId: number;
}

/** The content of a store in which nothing was stored yet. */
export const EMPTY_CONTENT: StoreContent = {
  admin: undefined,
  settings: new Map<StoredSetting, string>([['auth_enabled', 'undecided' satisfies AuthState]]),
  tokens: [],
  lastTokenId: 0,
};

/** Whether nothing was decided or given out in a store: it has no admin, no access token and no decision. */
export function isUnused({ admin, settings, lastTokenId }: StoreContent): boolean {
  return admin === undefined && lastTokenId === 0 && settings.get('auth_enabled') === 'undecided';
}

/**
 * A change of a store. What it does depends on nothing but the store before it: stores that were the same and make the same
 * changes in the same order are the same afterwards.
 */
export type StoreChange =
  | { readonly kind: 'create_admin'; readonly admin: StoredAdmin }
  /** Only in the place of an admin of this generation, where one is given. */
  | { readonly kind: 'replace_admin'; readonly admin: StoredAdmin; readonly generation: string | undefined }
  | {
      readonly kind: 'store_setting';
      readonly name: StoredSetting;
      readonly value: string;
      readonly over: SettingBefore | undefined;
    }
  | { readonly kind: 'create_token'; readonly token: NewToken }
  | { readonly kind: 'put_initial_token'; readonly token: NewToken }
  | { readonly kind: 'replace_digest'; readonly id: number; readonly digest: Buffer; readonly now: number }
  | { readonly kind: 'delete_token'; readonly id: number }
  /** Everything that was there is removed. */
  | { readonly kind: 'replace_all'; readonly content: StoreContent }
  | { readonly kind: 'nothing' };

/** The value that a setting must have for another to be stored in its place. */
export interface SettingBefore {
  readonly value: string | undefined;
}

interface Outcomes {
  readonly create_admin: boolean;
  readonly replace_admin: boolean;
  readonly store_setting: boolean;
  readonly create_token: StoredToken;
  readonly put_initial_token: StoredToken;
  readonly replace_digest: StoredToken | undefined;
  readonly delete_token: boolean;
  readonly replace_all: undefined;
  readonly nothing: undefined;
}

/** What a change gives. */
export type OutcomeOf<Change extends StoreChange> = Outcomes[Change['kind']];

/** How far a store has come in the log of its cluster. */
export interface LogPosition {
  /** The name of the stream; empty before the first record. */
  readonly stream: string;
  /** When the stream was created, as the log servers write it. */
  readonly created: string;
  /** The sequence of the last record that was applied; 0 before the first. */
  readonly sequence: number;
  /** The operation of that record. */
  readonly operation: string;
}

/** The position of a store that has to read its log from the first record on. */
export const LOG_BEGIN: LogPosition = { stream: '', created: '', sequence: 0, operation: '' };

/**
 * The position of a store that is to give its cluster what it has, in a new stream after one that was lost.
 * @param created when that stream was created
 */
export function givingPosition(created: string): LogPosition {
  return { ...LOG_BEGIN, created, operation: 'gives' };
}

/** Whether a position is a {@link givingPosition}. */
export function isGiving({ sequence, operation }: LogPosition): boolean {
  return sequence === 0 && operation !== '';
}

/** The name under which a store keeps its position, among the settings. */
export const LOG_POSITION = 'log_position';

/** The position as it is stored. */
export function positionText({ stream, created, sequence, operation }: LogPosition): string {
  return JSON.stringify({ stream, created, sequence, operation });
}

/** The position of such a text. @throws Error for any other one. */
export function parsePosition(text: string): LogPosition {
  const { stream, created, sequence, operation } = JSON.parse(text) as Readonly<Record<string, unknown>>;
  if (
    typeof stream !== 'string' ||
    typeof created !== 'string' ||
    typeof operation !== 'string' ||
    !Number.isSafeInteger(sequence)
  ) {
    throw new Error(`the setting ${LOG_POSITION} has no value that is known`);
  }
  return { stream, created, sequence: sequence as number, operation };
}

/** A store in a file or in memory, which changes may come to from the log of a cluster. */
export interface LocalTokenStore extends TokenStore {
  /** Where in the log of its cluster the store is; undefined for that of a server without a cluster. */
  logPosition(): Promise<LogPosition | undefined>;
  /** Makes a change and notes the position, both or none. */
  apply<Change extends StoreChange>(change: Change, position: LogPosition): Promise<OutcomeOf<Change>>;
  content(): Promise<StoreContent>;
}
