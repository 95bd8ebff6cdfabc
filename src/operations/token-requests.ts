import type { AccessTokens } from '../auth/offline-tokens';
import {
  readTokenRequest,
  TOKEN_EXPIRED,
  TOKEN_NOT_FOUND,
  tokenResource,
  type IssuedToken,
  type TokenResource,
} from '../auth/tokens';
import { filterProblem } from '../engine/filter-problem';

/** What an operator at the data directory asks of its access tokens. */
export type TokenOrder =
  | { readonly kind: 'list tokens' }
  | {
      readonly kind: 'create token';
      readonly name: string;
      readonly permission: string;
      readonly description: string | null;
      /** Null for a token that does not expire. */
      readonly lifetimeSeconds: number | null;
      /** What it may reach, which is checked where the token is made (C15). */
      readonly collections?: unknown;
      readonly filter?: unknown;
    }
  | { readonly kind: 'rotate token' | 'delete token'; readonly id: number };

/** What became of it. */
export interface TokenOutcome {
  /** All tokens for `list tokens`; else the token that was created or rotated; none after a deletion. */
  readonly tokens: readonly TokenResource[];
  /** Whether authentication is enabled: otherwise nobody is asked for a token. */
  readonly enabled: boolean;
}

/**
 * The order of a value that may be anything; undefined for what is none. A field that is not known would be a limit of a
 * later release, and leaving it out would make a token without it.
 */
export function readTokenOrder(value: Readonly<Record<string, unknown>>): TokenOrder | undefined {
  const { kind, id, name, permission, description = null, lifetimeSeconds = null, ...rest } = value;
  const { collections, filter, ...unknown } = rest;
  if (Object.keys(unknown).length > 0) return undefined;
  switch (kind) {
    case 'list tokens':
      return { kind };
    case 'rotate token':
    case 'delete token':
      return typeof id === 'number' && Number.isSafeInteger(id) && id > 0 ? { kind, id } : undefined;
    case 'create token':
      return typeof name === 'string' &&
        typeof permission === 'string' &&
        (description === null || typeof description === 'string') &&
        (lifetimeSeconds === null || typeof lifetimeSeconds === 'number')
        ? { kind, name, permission, description, lifetimeSeconds, collections, filter }
        : undefined;
    default:
      return undefined;
  }
}

/** Does what was ordered, or says why not: a sentence without its full stop. */
export async function carryOut(order: TokenOrder, tokens: AccessTokens): Promise<TokenOutcome | string> {
  const { enabled } = tokens;
  switch (order.kind) {
    case 'list tokens':
      return { tokens: (await tokens.tokens()).map((token) => tokenResource(token)), enabled };
    case 'create token': {
      const request = readTokenRequest(order, filterProblem);
      return typeof request === 'string' ? request : outcomeOf(await tokens.createToken(request), enabled);
    }
    case 'rotate token': {
      const issued = await tokens.rotateToken(order.id);
      if (issued === 'unknown') return TOKEN_NOT_FOUND;
      return issued === 'expired' ? TOKEN_EXPIRED : outcomeOf(issued, enabled);
    }
    case 'delete token':
      return (await tokens.deleteToken(order.id)) ? { tokens: [], enabled } : TOKEN_NOT_FOUND;
  }
}

function outcomeOf({ stored, raw }: IssuedToken, enabled: boolean): TokenOutcome {
  return { tokens: [tokenResource(stored, raw)], enabled };
}
