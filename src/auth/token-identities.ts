import type { Permission } from '../http/authorization';
import { digestOf } from './access-token';
import type { IdentityCache, KnownToken } from './identity-cache';
import { tokenLimits } from './limits';
import { Lookups } from './lookups';
import { parsePermissions } from './permissions';
import type { StoredToken, TokenStore } from './store/port';

/** Who has an access token: from the cache, or else from the store. */
export class TokenIdentities {
  readonly #lookups = new Lookups<KnownToken | null>();

  constructor(
    private readonly store: Pick<TokenStore, 'tokenByDigest'>,
    private readonly identities: IdentityCache,
  ) {}

  /** An access token that is cached, at once, or else one of the store; null for one that is unknown. */
  find(token: string): KnownToken | null | Promise<KnownToken | null> {
    const digest = digestOf(token);
    const key = digest.toString('base64');
    const cached = this.identities.find(key);
    return cached === undefined ? this.#lookups.share(key, () => this.#lookUp(digest, key)) : cached;
  }

  /** Makes everything that was known of tokens before count no more. */
  forget(): void {
    this.identities.clear();
    this.#lookups.clear();
  }

  async #lookUp(digest: Buffer, key: string): Promise<KnownToken | null> {
    const { epoch } = this.identities;
    const stored = await this.store.tokenByDigest(digest);
    const known = stored === undefined ? null : knownToken(stored);
    this.identities.remember(key, known, epoch);
    return known;
  }
}

function knownToken(stored: StoredToken): KnownToken {
  const permissions = parsePermissions(stored.permission) ?? new Set<Permission>();
  return {
    identity: Object.freeze({
      kind: 'access-token',
      permissions,
      tokenId: stored.id,
      ...(stored.limits !== undefined && { limits: tokenLimits(stored.limits) }),
    }),
    expiresAt: stored.expiresAt,
  };
}
