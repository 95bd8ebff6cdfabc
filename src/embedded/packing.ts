/** Packed vectors, of which `crates/engine/src/json/packed.rs` has the format: floats beside the JSON of a body or an answer. */
import { replaceVectors } from '../client/answered-vectors';
import { encodeJson, parseJson } from '../client/json';
import type { Envelope } from '../client/transport';
import type { Operation } from '../engine/types';

/** Operations whose bodies and answers may both have vectors. */
const SEARCHES: readonly Operation[] = [
  'search',
  'search_batch',
  'query',
  'query_batch',
  'recommend',
  'recommend_batch',
  'discover',
  'discover_batch',
  'search_groups',
  'query_groups',
  'recommend_groups',
];
/** Operations whose bodies may hold vectors. */
const WITH_VECTORS: ReadonlySet<Operation> = new Set([
  ...SEARCHES,
  'upsert_points',
  'update_vectors',
  'batch_update',
  'sync_points',
]);
/** Operations whose answers may have vectors. */
export const READS_OF_POINTS: ReadonlySet<Operation> = new Set([
  ...SEARCHES,
  'retrieve_points',
  'get_point',
  'scroll',
]);
const FLOAT_BYTES = Float32Array.BYTES_PER_ELEMENT;
const TRAILER_BYTES = 4;

/**
 * A body whose `Float32Array`s are packed. Undefined where there are none, or where the operation takes no vectors: such a
 * body is sent as JSON.
 */
export function packBody(operation: Operation, body: unknown): Buffer | undefined {
  if (!WITH_VECTORS.has(operation) || body instanceof Uint8Array) return undefined;
  const vectors: Float32Array[] = [];
  let floats = 0;
  const json = encodeJson(body, (vector) => {
    vectors.push(vector);
    const mark = `#${floats}:${vector.length}`;
    floats += vector.length;
    return mark;
  });
  if (vectors.length === 0) return undefined;
  const jsonBytes = Buffer.byteLength(json);
  const packed = Buffer.allocUnsafe(jsonBytes + floats * FLOAT_BYTES + TRAILER_BYTES);
  let at = packed.write(json);
  for (const { buffer, byteOffset, byteLength } of vectors) {
    packed.set(new Uint8Array(buffer, byteOffset, byteLength), at);
    at += byteLength;
  }
  packed.writeUInt32LE(jsonBytes, at);
  return packed;
}

/** The envelope of an answer whose vectors are packed. Each becomes a `Float32Array` with memory of its own. */
export function unpackAnswer(answer: Buffer): Envelope {
  const jsonBytes = answer.readUInt32LE(answer.length - TRAILER_BYTES);
  const envelope = parseJson(answer.toString('utf8', 0, jsonBytes)) as Envelope;
  replaceVectors(envelope.result, ([first = 0, count = 0]) => {
    const from = answer.byteOffset + jsonBytes + first * FLOAT_BYTES;
    return new Float32Array(answer.buffer.slice(from, from + count * FLOAT_BYTES) as ArrayBuffer);
  });
  return envelope;
}
