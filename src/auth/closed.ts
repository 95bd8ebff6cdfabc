import type { Identity } from '../http/authorization';
import type { AuthService } from './service';
import type { StoreDamaged } from './store/port';

/**
 * Authentication whose store does not verify (C3.8): nobody gets in, whatever the setting was. The server lives on, so
 * that it says what is wrong and its data can be backed up.
 */
export class ClosedAuthService implements AuthService {
  readonly isClosed = true;
  readonly isOutdated = false;
  readonly enabled = true;
  readonly decided = true;
  readonly adminExists = false;
  readonly hasInitialToken = false;

  constructor(private readonly fault: StoreDamaged) {}

  identify(): Identity | null {
    return null;
  }

  known(): Promise<null> {
    return Promise.resolve(null);
  }

  createAdmin(): Promise<never> {
    return this.#refuse();
  }

  resetPassword(): Promise<never> {
    return this.#refuse();
  }

  rotateSecret(): Promise<never> {
    return this.#refuse();
  }

  login(): Promise<never> {
    return this.#refuse();
  }

  setEnabled(): Promise<never> {
    return this.#refuse();
  }

  enableUndecided(): Promise<never> {
    return this.#refuse();
  }

  createToken(): Promise<never> {
    return this.#refuse();
  }

  tokens(): Promise<never> {
    return this.#refuse();
  }

  rotateToken(): Promise<never> {
    return this.#refuse();
  }

  deleteToken(): Promise<never> {
    return this.#refuse();
  }

  compareWith(): Promise<void> {
    return Promise.resolve();
  }

  copyStore(): Promise<never> {
    return this.#refuse();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #refuse(): Promise<never> {
    return Promise.reject(this.fault);
  }
}
