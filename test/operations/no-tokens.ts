import type { AccessTokens } from '../../src/auth/offline-tokens';

/** The access tokens of a control socket whose test asks for none. */
export const NO_TOKENS: AccessTokens = {
  enabled: true,
  tokens: () => Promise.resolve([]),
  createToken: () => Promise.reject(new Error('not asked for')),
  rotateToken: () => Promise.resolve('unknown'),
  deleteToken: () => Promise.resolve(false),
};
