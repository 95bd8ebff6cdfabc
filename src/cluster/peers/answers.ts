import { MapDiffers, PeerUnreachable, readEngineError } from './errors';
import type { ReplicaDigest, ReplicaPosition } from './handlers';
import { isCount, isDigest, isObject, objectIn } from '../json';

/** The answers of other nodes, read as what anybody may have sent. */

/** @throws Error for anything else. */
export function readPositions(bytes: Buffer): readonly ReplicaPosition[] {
  const sent: unknown = JSON.parse(bytes.toString('utf8'));
  if (!Array.isArray(sent)) throw new Error('no positions');
  return sent.map((one: unknown) => {
    if (isObject(one) && typeof one['collection'] === 'string' && isCount(one['position'])) {
      return { collection: one['collection'], position: one['position'] };
    }
    throw new Error('no position');
  });
}

/** @throws Error for anything else. */
export function readDigest(bytes: Buffer): ReplicaDigest {
  const sent: unknown = JSON.parse(bytes.toString('utf8'));
  if (isObject(sent)) {
    const { position, points, digest } = sent;
    if (isCount(position) && isCount(points) && isDigest(digest)) return { position, points, digest };
  }
  throw new Error('no digest');
}

/** The error of an answer that is no success. */
export function readFailure(peer: string, status: number, bytes: Buffer): Error {
  const { kind, code, details, map_version: mapVersion } = objectIn(bytes) ?? {};
  if (status === 422 && kind === 'engine') {
    const error = readEngineError(code, details);
    if (error !== undefined) return error;
  }
  if (status === 409 && code === 'map_version' && isCount(mapVersion)) {
    return new MapDiffers(peer, mapVersion);
  }
  const reason = code === 'busy' || code === 'behind' || code === 'closing' ? code : `status ${status}`;
  return new PeerUnreachable(peer, `it refuses: ${reason}`);
}
