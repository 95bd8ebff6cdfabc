import { computed, signal } from '@preact/signals';

/** Who uses the console. It is in the memory of this page only: never in a storage, a cookie or a URL. */
export interface Credential {
  readonly kind: 'admin' | 'token';
  readonly token: string;
  /** Milliseconds since 1970; of the admin's JWT. */
  readonly expiresAt?: number;
}

export type Ending = 'expired' | 'refused' | 'signed-out';

/** Undefined until the server has said whether it asks for credentials. */
export const authEnabled = signal<boolean | undefined>(undefined);

export const credential = signal<Credential | undefined>(undefined);

/** Why there is no credential any more. */
export const ending = signal<Ending | undefined>(undefined);

/** Whether the server did not answer lately. */
export const isUnreachable = signal(false);

/** Whether a sign-in is needed before anything can be shown. */
export const needsSignIn = computed(() => authEnabled.value === true && credential.value === undefined);

export function signIn(given: Credential): void {
  ending.value = undefined;
  credential.value = given;
}

/** Forgets the credential. */
export function endSession(why: Ending): void {
  credential.value = undefined;
  ending.value = why;
}
