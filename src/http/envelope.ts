import type { Answer } from '../engine/types';

/**
 * The two shapes of a failure. Success envelopes of data endpoints are written by the engine.
 */

/** Which serialiser a path uses: C1.3 under `/auth`, C1.2 everywhere else, unknown routes included. */
export type Family = 'general' | 'auth';

/** The family of a path, whether or not a route matches it. */
export function familyOf(path: string): Family {
  return path === '/auth' || path.startsWith('/auth/') ? 'auth' : 'general';
}

const SERIALISERS: Readonly<Record<Family, (message: string, seconds: number) => string>> = {
  general: (message, seconds) => JSON.stringify({ time: seconds, status: { error: message } }),
  auth: (message) => JSON.stringify({ status: 'error', message }),
};

/** The body of a failure; `seconds` is how long the server worked on the request. */
export function failureBody(family: Family, message: string, seconds: number): Buffer {
  return Buffer.from(SERIALISERS[family](message, seconds));
}

const ASCII = /^[\x20-\x7e]*$/;

/** An envelope of a failure as an answer: a string where each character is a byte, since that is sent in one piece with its head. */
export function failureAnswer(family: Family, message: string, seconds: number): Answer {
  const text = SERIALISERS[family](message, seconds);
  return ASCII.test(text) ? text : Buffer.from(text);
}
