import { EngineError } from '../../engine/types';
import { LogRefusedError, LogUnavailableError, OutcomeUnknownError } from '../log/record-log';

/** The success envelope of a result, as the engine writes it. */
export function envelopeOf(result: unknown, startedAt: number): Buffer {
  const time = (performance.now() - startedAt) / 1000;
  return Buffer.from(JSON.stringify({ time, status: 'ok', result }));
}

/** A body as JSON, of an operation whose body has no numbers beyond 2^53. @throws EngineError `bad_request` */
export function jsonOf(body: Buffer): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(body.toString());
  } catch (error) {
    throw bad(`the body is not JSON: ${error instanceof Error ? error.message : ''}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw bad('the body must be an object');
  return value as Readonly<Record<string, unknown>>;
}

export function bad(message: string): EngineError {
  return new EngineError('bad_request', { message });
}

/** What a cluster does not do, in the words of the endpoint. */
export function unavailable(what: string): EngineError {
  return bad(`${what} not available in a cluster`);
}

/** An error of the log servers as one that a client gets; others as they are. */
export function clientError(error: unknown): unknown {
  if (error instanceof LogUnavailableError || error instanceof LogRefusedError)
    return new EngineError('unavailable', { message: error.message });
  // Of a change of the shard map: a write has its operation id.
  if (error instanceof OutcomeUnknownError) return new EngineError('not_confirmed');
  return error;
}
