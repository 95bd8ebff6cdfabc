import { bodyTimeout, overloaded, type Failure } from './errors';

/**
 * Why a request was not served although nothing is wrong with it: for load, for the rate of its collection, or for want of
 * room; or (`unread_answer`) its answer was given up: the label
 * of the metric that counts these.
 */
export const REFUSAL_REASONS = [
  'requests',
  'request_share',
  'bodies',
  'body_bytes',
  'body_share',
  'slow_body',
  'answer_bytes',
  'unread_answer',
  'engine',
  'rate',
  'storage_full',
  'memory_limit',
] as const;

export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** A request that is refused for load, or given up because its client is slow. */
export interface Refusal {
  readonly reason: RefusalReason;
  readonly failure: Failure;
}

/** A 429 (C1.5). */
export function refusal(reason: RefusalReason, message: string): Refusal {
  return { reason, failure: overloaded(message) };
}

/** The 408 for a body slower than its minimum rate. */
export function slowBody(): Refusal {
  return { reason: 'slow_body', failure: bodyTimeout() };
}
