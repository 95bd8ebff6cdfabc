import { createHash } from 'node:crypto';
import { encodeJson } from '../client/json';

/** One record of Chroma. */
export interface ChromaRecord {
  readonly id: string;
  readonly embedding: readonly number[] | undefined;
  readonly document: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
  readonly uri: string | undefined;
}

/** Which keys of the payload have what is no metadata. */
export interface RecordMapping {
  readonly idKey: string;
  readonly documentKey: string;
  readonly uriKey: string;
  /** Whether ids stay the texts that they are, in collections of string ids (C21). */
  readonly keepsIds?: boolean;
}

/** The keys unless they are named. */
export const RECORD_KEYS: RecordMapping = { idKey: 'chroma_id', documentKey: 'document', uriKey: 'uri' };

/** The namespace of the ids that are made of texts; the ids are part of what users store, so it never changes. */
const NAMESPACE = Buffer.from('6b8f2f1c5f0e5c0e9d3a7a1f4f6e21d7', 'hex');
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const INTEGER = /^(?:0|[1-9]\d{0,19})$/;
const MAX_INTEGER = 2n ** 64n - 1n;

/**
 * The point of a record, in JSON. The metadata are the payload, with document and URI beside them. An id that is none of a
 * point is kept in the payload.
 * @throws Error that says why there is none
 */
export function pointOfRecord(record: ChromaRecord, keys: RecordMapping): string {
  const { id: text, embedding, document, metadata = {}, uri } = record;
  if (embedding === undefined) {
    throw new Error('it has no embedding');
  }
  const id = keys.keepsIds === true ? text : pointId(text);
  const added: readonly (readonly [key: string, value: unknown, flag: string])[] = [
    [keys.documentKey, document, '--document-key'],
    [keys.uriKey, uri, '--uri-key'],
    [keys.idKey, id === text || String(id) === text ? undefined : text, '--id-key'],
  ];
  const payload = new Map(Object.entries(metadata));
  for (const [key, value, flag] of added) {
    if (value === undefined) continue;
    if (payload.has(key)) {
      throw new Error(`its metadata have the key ${key} already: name another one with ${flag}`);
    }
    payload.set(key, value);
  }
  return encodeJson({ id, vector: embedding, payload: Object.fromEntries(payload) });
}

/**
 * The id of the point for an id of Chroma: a UUID in its usual form and a whole number of 64 bits stay what they are, any
 * other text becomes the UUID (version 5) of it.
 */
export function pointId(text: string): string | bigint {
  if (UUID.test(text)) return text;
  if (INTEGER.test(text) && BigInt(text) <= MAX_INTEGER) return BigInt(text);
  const digest = createHash('sha1').update(NAMESPACE).update(text, 'utf8').digest();
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.toString('hex', 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
