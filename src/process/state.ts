import { LocalIdentityCache } from '../auth/identity-cache';
import { LocalLoginThrottle } from '../auth/login-throttle';
import type { ProcessAuth } from '../auth/open';
import type { Config } from '../config';
import { LocalPasswordHasher } from '../auth/password-hashing';
import { DEFAULT_ADMISSION_LIMITS, LocalAdmission, type Admission } from '../http/admission';
import { bytesInFlight } from './memory';
import { LocalRequestCounts, type RequestCounts } from '../http/request-counts';

/**
 * What is counted or remembered for the whole process: budgets, throttles, the cache of access tokens, and what the
 * metrics count. It is made once, in `server.ts`, and passed down; no module keeps such state itself. Each part is an
 * interface, so that several event loops can share one implementation.
 */
export interface ProcessState {
  /** The budgets of requests, of their bodies and of their answers. */
  readonly admission: Admission;
  readonly requests: RequestCounts;
  readonly auth: ProcessAuth;
}

/** The state of a process with one event loop. */
export function localProcessState(
  settings: Pick<Config, 'maxBodyBytes' | 'maxConnections'> & Partial<Pick<Config, 'memoryLimit'>>,
): ProcessState {
  const now = (): number => performance.now();
  const { answers } = DEFAULT_ADMISSION_LIMITS;
  const bodyBytes = bytesInFlight(settings);
  return {
    admission: new LocalAdmission({
      ...DEFAULT_ADMISSION_LIMITS,
      // Slow bodies leave a half of the connections to others.
      arrivingBodies: Math.floor(settings.maxConnections / 2),
      bodyBytes,
      answers: { ...answers, bytes: Math.min(answers.bytes, bodyBytes) },
    }),
    requests: new LocalRequestCounts(),
    auth: {
      throttle: new LocalLoginThrottle(now),
      hasher: new LocalPasswordHasher(),
      identities: new LocalIdentityCache(now),
    },
  };
}
