/** Replaces the values of access tokens. */
import { path, send, sendRaw } from '../service/request';
import { credential, signIn } from '../service/session';
import type { IssuedToken } from '../service/types';

/** The token with its new value. @throws RequestError as the server refuses it. */
export async function rotate(id: number): Promise<IssuedToken> {
  const issued = (await send('POST', path('auth', 'access_token', id, 'rotate'))) as IssuedToken;
  // Whatever happens, the value is shown: nobody can see it again.
  await followOwn(issued.token).catch(() => undefined);
  return issued;
}

/**
 * Signs in with the new value where the session has the old one. A token does not know its id, so the server is asked whether
 * the credential of the session is still good.
 */
async function followOwn(value: string): Promise<void> {
  const held = credential.value;
  if (held?.kind !== 'token') return;
  const { status } = await sendRaw('GET', '/auth/access_tokens', undefined, { token: held.token });
  // It could rotate a token a moment ago. While authentication is off an unknown token is a 403 there.
  const isRefused = status === 401 || status === 403;
  if (isRefused && credential.value === held) signIn({ kind: 'token', token: value });
}
