import { effect, signal } from '@preact/signals';
import type { Method } from '../service/request';
import { credential, type Credential } from '../service/session';

/** A request that was sent, and what came. */
export interface Sent {
  readonly key: number;
  readonly method: Method;
  readonly path: string;
  readonly body: string;
  readonly status: number;
  readonly ms: number;
}

const MAX_KEPT = 50;
/** Longer bodies would hold memory for nothing. */
const LONGEST_KEPT = 200_000;

let nextKey = 0;

/** The latest first. It is in memory only and lost at a reload. */
export const history = signal<readonly Sent[]>([]);

// The next one who signs in does not see what was sent before.
effect(() => {
  if (credential.value === undefined) history.value = [];
});

/** Keeps a request that was sent with the credential `by`, unless that is no longer the one of the session. */
export function remember(sent: Omit<Sent, 'key'>, by: Credential | undefined): void {
  if (by !== credential.value) return;
  const body = sent.body.length > LONGEST_KEPT ? '' : sent.body;
  history.value = [{ ...sent, body, key: nextKey++ }, ...history.value].slice(0, MAX_KEPT);
}
