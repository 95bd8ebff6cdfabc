import { BadRequestError } from '../client/errors';
import { encodeJson } from '../client/json';
import type { Transport } from '../client/transport';
import { isObject, type CollectionBody, type PayloadIndex } from './source';

/** Settings without which a collection would be another one: where one of them is refused, the collection is. */
const ESSENTIAL: ReadonlySet<string> = new Set([
  'ids',
  'vectors',
  'sparse_vectors',
  'size',
  'distance',
  'multivector_config',
  'comparator',
  'modifier',
]);
/** Settings that are left out of one body at most. */
const MAX_LEFT_OUT = 200;

/**
 * Creates a collection. A setting that is refused is left out, unless the collection would be another one without it.
 * Resolves with a sentence for each setting that is left out, or that has no effect.
 * @throws KithError when the collection is refused
 */
export async function createCollection(
  target: Transport,
  collection: string,
  body: CollectionBody,
): Promise<readonly string[]> {
  const remarks = await leavingOut(body, (reduced) =>
    target.execute({ operation: 'create_collection', collection, body: reduced }),
  );
  const { result } = await target.execute({ operation: 'collection_info', collection });
  const { warnings = [] } = result as { readonly warnings?: readonly { readonly message: string }[] };
  return [...remarks, ...warnings.map(({ message }) => message)];
}

/**
 * Makes an index over payloads, which is built in the background. An option that is refused is left out.
 * Resolves with a sentence for each, or with one that says why there is no index.
 */
export async function createIndex(
  target: Transport,
  collection: string,
  { field, schema }: PayloadIndex,
): Promise<readonly string[]> {
  try {
    const remarks = await leavingOut({ field_name: field, field_schema: schema }, (body) =>
      target.execute({ operation: 'create_field_index', collection, flags: { wait: true }, body }),
    );
    return remarks.map((remark) => `Index of ${field}: ${remark}`);
  } catch (error) {
    if (!(error instanceof BadRequestError)) throw error;
    return [`The index of ${field} is not migrated: ${error.message}`];
  }
}

async function leavingOut(
  body: CollectionBody,
  send: (body: CollectionBody) => Promise<unknown>,
): Promise<readonly string[]> {
  const remarks: string[] = [];
  let reduced = body;
  for (;;) {
    try {
      await send(reduced);
      return remarks;
    } catch (error) {
      const refused = error instanceof BadRequestError ? refusedSetting(reduced, error.message) : undefined;
      if (refused === undefined || remarks.length >= MAX_LEFT_OUT) throw error;
      remarks.push(`${refused.place} ${brief(refused.value)} is not migrated: ${refused.reason}`);
      reduced = without(reduced, refused.keys) as CollectionBody;
    }
  }
}

interface RefusedSetting {
  readonly place: string;
  readonly keys: readonly string[];
  readonly value: unknown;
  readonly reason: string;
}

/** The setting that the message of a refusal names (C1.11), if it can be left out. */
function refusedSetting(body: CollectionBody, message: string): RefusedSetting | undefined {
  const colon = message.indexOf(': ');
  const place = message.slice(0, Math.max(0, colon));
  const found = resolvePlace(body, place);
  if (found === undefined || ESSENTIAL.has(found.keys.at(-1) ?? '')) return undefined;
  // What has a name of the user's at its end is a whole vector, or the index itself.
  if (found.keys.length === 2 && /^(?:sparse_)?vectors$/.test(found.keys[0] ?? '') && isObject(found.value)) {
    return undefined;
  }
  if (found.keys[0] === 'field_name' || (found.keys[0] === 'field_schema' && found.keys.length < 2))
    return undefined;
  if (found.keys.at(-1) === 'type') return undefined;
  return { place, reason: message.slice(colon + 2), ...found };
}

/** Follows a place such as `vectors.title.hnsw_config.memory`; names of vectors may have dots. */
function resolvePlace(
  value: unknown,
  place: string,
): { readonly keys: readonly string[]; readonly value: unknown } | undefined {
  if (!isObject(value) || place === '') return undefined;
  for (const [key, field] of Object.entries(value)) {
    if (place === key) return { keys: [key], value: field };
    if (place.startsWith(`${key}.`)) {
      const below = resolvePlace(field, place.slice(key.length + 1));
      if (below !== undefined) return { keys: [key, ...below.keys], value: below.value };
    }
  }
  return undefined;
}

function without(value: unknown, [key = '', ...rest]: readonly string[]): unknown {
  if (!isObject(value)) return value;
  const { [key]: inner, ...others } = value;
  return rest.length === 0 ? others : { ...others, [key]: without(inner, rest) };
}

const BRIEF_CHARACTERS = 60;

function brief(value: unknown): string {
  const text = encodeJson(value);
  return text.length <= BRIEF_CHARACTERS ? text : `${text.slice(0, BRIEF_CHARACTERS)}…`;
}
