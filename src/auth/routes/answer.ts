import type { RequestHandler, Response } from 'express';
import { isDiskFull } from '../../files/explained';
import { authenticationClosed, engineFailure } from '../../http/errors';
import { HashingBusy } from '../password-hashing';
import { ChangeNotConfirmed, StoreDamaged, StoreReadOnly } from '../store/port';

/** A failure under `/auth` (C1.3). */
export function answerFailure(response: Response, status: number, message: string): void {
  response.status(status).json({ status: 'error', message });
}

/** A 429 with the time after which the client may try again. */
export function answerTooMany(response: Response, message: string, retryAfterSeconds: number): void {
  response.setHeader('Retry-After', String(retryAfterSeconds));
  answerFailure(response, 429, message);
}

/** A success without a resource. */
export function answerDone(response: Response, message: string): void {
  response.json({ status: 'success', message });
}

/** A success in the standard envelope (C1.1). */
export function answerEnvelope(response: Response, result: boolean): void {
  response.json({ usage: {}, time: secondsSince(response), status: 'ok', result });
}

const startedAt = new WeakMap<Response, number>();

/** First of a route's handlers: the envelope's `time` counts from here. */
export const stampTime: RequestHandler = (_request, response, next) => {
  startedAt.set(response, performance.now());
  next();
};

function secondsSince(response: Response): number {
  const now = performance.now();
  return (now - (startedAt.get(response) ?? now)) / 1000;
}

/** The prefix of failures of the store, like those of data endpoints (C1.5). */
const FAILED = 'Authentication operation failed';

/**
 * Makes a handler of asynchronous work; a full hashing queue is a 429, a full disk a 507, a damaged store a 500, a log of a
 * cluster that does not take a change a 503 or a 507, and a store that is only read a 403 that say so, and every other error goes
 * to Express.
 */
export function answering(work: (...args: Parameters<RequestHandler>) => Promise<void>): RequestHandler {
  return async (request, response, next) => {
    try {
      await work(request, response, next);
    } catch (error) {
      if (error instanceof HashingBusy) {
        answerTooMany(response, error.message, 1);
      } else if (isDiskFull(error)) {
        answerFull(response);
      } else if (error instanceof ChangeNotConfirmed && error.outcome === 'full') {
        answerFull(response, `${FAILED}: ${error.message}`);
      } else if (error instanceof StoreDamaged) {
        const { status, message } = authenticationClosed();
        answerFailure(response, status, message);
      } else if (error instanceof ChangeNotConfirmed) {
        response.setHeader('Retry-After', '1');
        answerFailure(response, 503, `${FAILED}: ${error.message}`);
      } else if (error instanceof StoreReadOnly) {
        answerFailure(response, 403, `${FAILED}: ${error.message}`);
      } else {
        next(error);
      }
    }
  };
}

/** A 507: a disk is full, or the log servers of a cluster are. */
function answerFull(response: Response, sentence?: string): void {
  const { status, message, retryAfterSeconds } = engineFailure('storage_full', {}, FAILED, sentence);
  if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', String(retryAfterSeconds));
  answerFailure(response, status, message);
}
