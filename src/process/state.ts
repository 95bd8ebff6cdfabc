import { LocalIdentityCache } from '../auth/identity-cache';
import { LocalLoginThrottle } from '../auth/login-throttle';
import type { ProcessAuth } from '../auth/open';
import { LocalPasswordHasher } from '../auth/password-hashing';
import { LocalAdmission, type Admission } from '../http/admission';
import { LocalRequestCounts, type RequestCounts } from '../http/request-counts';

/**
 * What is counted or remembered for the whole process: budgets, throttles, the cache of access tokens, and what the
 * metrics count. It is made once, in `server.ts`, and passed down; no module keeps such state itself. Each part is an
 * interface, so that several event loops can share one implementation.
 */
export interface ProcessState {
  /** The budget of requests and of their bytes. */
  readonly admission: Admission;
  readonly requests: RequestCounts;
  readonly auth: ProcessAuth;
}

/** Bodies and answers in flight may hold so many bytes together, and never less than one body of the largest size. */
const BYTES_IN_FLIGHT = 256 * 1024 * 1024;
const REQUESTS_IN_FLIGHT = 1024;

/** The state of a process with one event loop. */
export function localProcessState({ maxBodyBytes }: { readonly maxBodyBytes: number }): ProcessState {
  const now = (): number => performance.now();
  return {
    admission: new LocalAdmission({
      requests: REQUESTS_IN_FLIGHT,
      bytes: Math.max(BYTES_IN_FLIGHT, maxBodyBytes),
    }),
    requests: new LocalRequestCounts(),
    auth: {
      throttle: new LocalLoginThrottle(now),
      hasher: new LocalPasswordHasher(),
      identities: new LocalIdentityCache(now),
    },
  };
}
