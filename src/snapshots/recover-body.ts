import type { ServiceCall, Warning } from '../http/service-route';
import { readJson } from '../http/service-body';
import { malformed, SnapshotRefusal } from './failure';

const MAX_BYTES = 64 * 1024;

/** The body of a recovery. Names of Qdrant's that mean nothing on one node are known. */
export interface RecoverBody {
  readonly location: string;
  readonly checksum?: string | undefined;
}

const WITHOUT_MEANING = ['api_key'];

/** A checksum, from a body or a query string. @throws SnapshotRefusal */
export function checksumOf(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string' || !/^[0-9a-f]{64}$/i.test(value)) {
    throw malformed('checksum: must be a SHA-256 of 64 hexadecimal digits');
  }
  return value;
}

/** Refuses a priority that Qdrant does not know; on one node it means nothing. @throws SnapshotRefusal */
export function checkPriority(value: unknown): void {
  const isKnown = value === undefined || value === null || value === '';
  if (!isKnown && !['no_sync', 'snapshot', 'replica'].includes(value as string)) {
    throw malformed('priority: must be no_sync, snapshot or replica');
  }
}

/** Reads the body of a recovery, and what was passed over in it. @throws SnapshotRefusal */
export async function readRecoverBody(
  call: ServiceCall,
): Promise<{ readonly body: RecoverBody; readonly warnings: readonly Warning[] }> {
  const read = await readJson(call, MAX_BYTES);
  if ('failure' in read) throw new SnapshotRefusal(read.failure);
  return recoverBodyOf(read.value);
}

/** Reads a parsed body. @throws SnapshotRefusal */
export function recoverBodyOf(value: unknown): {
  readonly body: RecoverBody;
  readonly warnings: readonly Warning[];
} {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw malformed('body: expected an object');
  }
  const { location, checksum, priority, ...rest } = value as Record<string, unknown>;
  if (location === undefined || location === null) throw malformed('Missing required field: location');
  if (typeof location !== 'string') throw malformed('location: expected a string');
  checkPriority(priority);
  const unknown = Object.keys(rest).filter((name) => !WITHOUT_MEANING.includes(name));
  return {
    body: { location, checksum: checksumOf(checksum) },
    warnings: unknown.map((name) => ({ message: `${name}: unknown field, ignored` })),
  };
}
