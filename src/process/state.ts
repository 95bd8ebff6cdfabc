import { LocalIdentityCache } from '../auth/identity-cache';
import { LocalLoginThrottle } from '../auth/login-throttle';
import type { ProcessAuth } from '../auth/open';
import { LocalPasswordHasher } from '../auth/password-hashing';
import { LocalAdmission, type Admission } from '../http/admission';
import { ProcessRequestCounts, type OtherLoops } from '../event-loops/counts';
import type { EventLoops } from '../event-loops/event-loops';
import { admissionLimits, type BudgetSettings } from './budgets';
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
export function localProcessState(settings: BudgetSettings): ProcessState {
  return {
    admission: new LocalAdmission(admissionLimits(settings)),
    requests: new LocalRequestCounts(),
    auth: processAuth(),
  };
}

/** The state of a process with several event loops, for the main one. */
export function sharedProcessState(
  settings: BudgetSettings,
  loops: Pick<EventLoops, 'memory' | 'count' | 'publish'> & OtherLoops,
): ProcessState {
  const { memory, count } = loops;
  const forget = (): void => {
    memory.forgetCredentials();
  };
  const changed = (): void => {
    loops.publish();
  };
  return {
    admission: new LocalAdmission(admissionLimits(settings, count), memory.admission),
    requests: new ProcessRequestCounts(new LocalRequestCounts(), loops),
    auth: { ...processAuth(forget), changed },
  };
}

/** @param forgotten is called when what was known of credentials counts no more */
function processAuth(forgotten?: () => void): ProcessAuth {
  const now = (): number => performance.now();
  return {
    throttle: new LocalLoginThrottle(now),
    hasher: new LocalPasswordHasher(),
    identities: new LocalIdentityCache(now, forgotten),
  };
}
