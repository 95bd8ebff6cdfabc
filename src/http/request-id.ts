import { randomUUID } from 'node:crypto';

/** Hexadecimal digits of the last group of a UUID. */
const COUNTED_DIGITS = 12;

/**
 * Ids of requests in the form of UUIDs: random groups that are drawn once, and a counter in the last one. They need to
 * differ and not to be secret, and a random one for each request would cost more.
 */
export function requestIds(): () => string {
  const prefix = randomUUID().slice(0, -COUNTED_DIGITS);
  let count = 0;
  return () => {
    count += 1;
    return prefix + count.toString(16).padStart(COUNTED_DIGITS, '0');
  };
}
