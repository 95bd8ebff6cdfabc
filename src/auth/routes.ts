import type { ClientAddresses } from '../http/client-address';
import type { RequestCounts } from '../http/request-counts';
import type { AuthRoute } from '../http/route-table';
import { adminExists, createAdmin, login, resetPassword } from './routes/admin';
import { stampTime } from './routes/answer';
import { setEnabled } from './routes/setting';
import { createToken, deleteToken, listTokens, rotateToken } from './routes/tokens';
import type { AuthService } from './service';

/** Every endpoint under `/auth`, for the one route table. The service may still be opening: its endpoints wait. */
export function authRoutes(
  auth: Promise<AuthService>,
  clients: ClientAddresses,
  requests: Pick<RequestCounts, 'authenticated'>,
): readonly AuthRoute[] {
  const lines: readonly Omit<AuthRoute, 'kind'>[] = [
    { method: 'GET', path: '/auth/admin/exists', permission: 'none', handlers: adminExists(auth) },
    {
      method: 'POST',
      path: '/auth/admin/login',
      permission: 'none',
      handlers: login(auth, clients, requests),
    },
    {
      method: 'POST',
      path: '/auth/admin/reset-password',
      permission: 'known-admin',
      handlers: resetPassword(auth),
    },
    { method: 'POST', path: '/auth/admin', permission: 'local', handlers: createAdmin(auth) },
    { method: 'PATCH', path: '/auth/enabled', permission: 'admin-jwt', handlers: setEnabled(auth) },
    { method: 'GET', path: '/auth/access_tokens', permission: 'token-admin', handlers: listTokens(auth) },
    { method: 'POST', path: '/auth/access_token', permission: 'token-admin', handlers: createToken(auth) },
    {
      method: 'POST',
      path: '/auth/access_token/:id/rotate',
      permission: 'token-admin',
      handlers: rotateToken(auth),
    },
    {
      method: 'DELETE',
      path: '/auth/access_token/:id',
      permission: 'token-admin',
      handlers: deleteToken(auth),
    },
  ];
  return lines.map((line) => ({ kind: 'auth', ...line, handlers: [stampTime, ...line.handlers] }));
}
