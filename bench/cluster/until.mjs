/** Waiting for what other processes do. */
import { setTimeout as sleep } from 'node:timers/promises';

const PAUSE_MS = 50;
const TIMEOUT_MS = 180_000;

/**
 * Waits until a condition holds.
 *
 * @param {string} what is waited for, for the error
 * @param {() => Promise<boolean> | boolean} holds
 */
export async function until(what, holds) {
  const endsAt = performance.now() + TIMEOUT_MS;
  while (!(await holds())) {
    if (performance.now() > endsAt) throw new Error(`${TIMEOUT_MS / 1000} s have brought no ${what}`);
    await sleep(PAUSE_MS);
  }
}
