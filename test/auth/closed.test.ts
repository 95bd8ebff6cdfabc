/** Authentication whose store does not verify, and the rows that tell. */
import { createHash } from 'node:crypto';
import { ClosedAuthService } from '../../src/auth/closed';
import type { AuthService } from '../../src/auth/service';
import { tokenRow } from '../../src/auth/store/digest';
import { StoreDamaged, type StoredToken } from '../../src/auth/store/port';

const FAULT = new StoreDamaged('auth.sqlite3', 'it does not verify');

describe('C3.8 authentication whose store does not verify', () => {
  const closed: AuthService = new ClosedAuthService(FAULT);

  it('C3.8 knows nobody', async () => {
    expect(closed.enabled).toBe(true);
    expect(await closed.known({ kind: 'none' } as never)).toBeNull();
  });

  it.each([
    ...['createAdmin', 'resetPassword', 'rotateSecret', 'login', 'setEnabled', 'enableUndecided'],
    ...['createToken', 'tokens', 'rotateToken', 'deleteToken', 'copyStore'],
  ] as const)('C3.8 refuses with the fault: %s', async (method) => {
    const call = closed[method].bind(closed) as () => Promise<unknown>;
    await expect(call()).rejects.toBe(FAULT);
  });
});

describe('the digest of an access token', () => {
  const raw = createHash('sha256').update('value').digest();
  const token: StoredToken = {
    ...{ id: 7, name: 'reader', description: null, permission: 'read' },
    ...{ createdAt: 1000, expiresAt: null },
  };
  const digestOf = (fields: readonly unknown[]): Buffer =>
    createHash('sha256').update(JSON.stringify(fields)).digest();
  const fields = ['token', 7, 'reader', null, raw.toString('hex'), 'read', 1000, null];

  it('is that of the releases before there were limits, unless it has some', () => {
    expect(tokenRow(token, raw).digest).toEqual(digestOf(fields));
    const limits = '{"collections":["a"]}';
    expect(tokenRow({ ...token, limits }, raw).digest).toEqual(digestOf([...fields, limits]));
  });
});
