import { isLoopbackHost } from './loopback';

/** A start refused because it would expose a database without authentication to the network. */
export class ExposureError extends Error {
  override readonly name = 'ExposureError';
}

/** What the check needs to know of authentication. */
export interface AuthState {
  readonly enabled: boolean;
  /** Whether the setting was stored explicitly, by a start or by `PATCH /auth/enabled`. */
  readonly decided: boolean;
}

/** Whether only this machine can reach the address; then the check does not need the state of authentication. */
export function isPrivateAddress(config: { readonly host: string }): boolean {
  return isLoopbackHost(config.host);
}

/**
 * Decides whether the server may listen on its address (C3.8). Call it before listening on an address that is not
 * private.
 * @returns warnings for the log
 * @throws ExposureError on a first start with authentication disabled that was not explicitly allowed
 */
export function checkExposure(
  config: { readonly host: string; readonly insecureNoAuth: boolean },
  auth: AuthState,
): readonly string[] {
  if (isPrivateAddress(config) || auth.enabled) {
    return [];
  }
  if (!auth.decided && !config.insecureNoAuth) {
    throw new ExposureError(
      [
        `Refusing to listen on ${config.host}: authentication is disabled, and other machines can reach this address.`,
        'Start with KITHDB_ACCESS_TOKEN, which enables authentication (kithdb init makes one, with a settings file),',
        'or with KITHDB_AUTH_ENABLED=true and KITHDB_ADMIN_PASSWORD; listen on 127.0.0.1;',
        'or pass --insecure-no-auth to let everybody who reaches the address read and delete everything.',
      ].join('\n'),
    );
  }
  return [
    `Authentication is disabled, and ${config.host} can be reached from other machines: everybody can read and delete everything`,
  ];
}
