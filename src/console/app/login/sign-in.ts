import { failureOf, RequestError, send, sendRaw } from '../service/request';
import { signIn } from '../service/session';

interface LoginResult {
  readonly token: string;
  readonly expires_in: number;
}

/** @throws RequestError in the server's words. */
export async function signInAsAdmin(password: string): Promise<void> {
  const { token, expires_in: seconds } = (await send(
    'POST',
    '/auth/admin/login',
    { password },
    { token: null },
  )) as LoginResult;
  signIn({ kind: 'admin', token, expiresAt: Date.now() + seconds * 1000 });
}

/** Characters that a header can have. */
const PRINTABLE = /^[\x20-\x7e]+$/;

/**
 * Tries a token on the list of collections. One without `read` is accepted too: it is valid, and its permission decides
 * what it may do.
 * @throws RequestError where the server does not know it.
 */
export async function signInWithToken(text: string): Promise<void> {
  const token = text.trim();
  if (!PRINTABLE.test(token)) throw new RequestError('An access token has printable characters only', 400);
  const answer = await sendRaw('GET', '/collections', undefined, { token });
  if (![200, 403, 412].includes(answer.status)) throw failureOf(answer);
  signIn({ kind: 'token', token });
}
