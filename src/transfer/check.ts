import { NotFoundError } from '../client/errors';
import { parseJson } from '../client/json';
import type { Transport } from '../client/transport';
import { UUID } from '../http/uuid';
import { fieldsOf } from './page';
import { vectorsOfFirst } from './prepare';
import { SourceError, type Source } from './row';

/** What the points of a collection have to fit. */
export interface Expected {
  readonly hasStringIds: boolean;
  /** Absent where they are not known. */
  readonly vectors?: Dimensions | undefined;
}

/** The dimension of each dense vector field, and undefined for a sparse one; `''` is the unnamed field. */
type Dimensions = ReadonlyMap<string, number | undefined>;

/** The parts of a collection's info, or of the body that creates one, that say so. */
interface Fields {
  readonly vectors?: { readonly size?: unknown } | Readonly<Record<string, { readonly size: number }>>;
  readonly sparse_vectors?: Readonly<Record<string, unknown>>;
}

/** What the points of a collection have to fit; undefined where there is no such collection. */
export async function expectedOf(transport: Transport, collection: string): Promise<Expected | undefined> {
  try {
    const { result } = await transport.execute({ operation: 'collection_info', collection });
    const { ids, config } = result as { ids?: string; config: { params: Fields } };
    return { hasStringIds: ids === 'string', vectors: dimensionsOf(config.params) };
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

/**
 * The same of a collection that is not there, by the first row that is a point. `isCreated`: the import would create it.
 * @throws SourceError where the import could not create it
 */
export async function expectedOfNew(
  source: Source,
  ids: string | undefined,
  isCreated: boolean,
): Promise<Expected> {
  const hasStringIds = ids === 'string';
  try {
    return { hasStringIds, vectors: dimensionsOf(await vectorsOfFirst(source, 'Dot')) };
  } catch (error) {
    if (isCreated || !(error instanceof SourceError)) throw error;
    return { hasStringIds };
  }
}

function dimensionsOf({ vectors = {}, sparse_vectors: sparse = {} }: Fields): Dimensions {
  const dense =
    typeof vectors.size === 'number'
      ? [['', vectors.size] as const]
      : Object.entries(vectors as Readonly<Record<string, { readonly size: number }>>).map(
          ([name, { size }]) => [name, size] as const,
        );
  return new Map([...dense, ...Object.keys(sparse).map((name) => [name, undefined] as const)]);
}

/** Says why the service would refuse a point, as far as its id and its vectors say so; undefined for one that it takes. */
export function problemOf(json: string, { hasStringIds, vectors }: Expected): string | undefined {
  let point: unknown;
  try {
    point = parseJson(json);
  } catch {
    return 'it is not JSON';
  }
  const { id, vector, vectors: named = vector } = point as Readonly<Record<string, unknown>>;
  return (
    (typeof id === 'number' ? formProblem(json) : undefined) ??
    idProblem(id, hasStringIds) ??
    vectorsProblem(named, vectors)
  );
}

/** An id that is a number is written with nothing but digits: `1.0` and `1e3` are none. */
function formProblem(json: string): string | undefined {
  const written = fieldsOf(Buffer.from(json)).get('id')?.toString().trim();
  return written === undefined || /^-?\d+$/.test(written)
    ? undefined
    : `id: ${written} is not an integer from 0 to ${MAX_ID}`;
}

const MAX_ID = 2n ** 64n - 1n;
/** Bytes of an id that is a string (C21). */
const MAX_ID_BYTES = 256;
function idProblem(id: unknown, hasStringIds: boolean): string | undefined {
  if (id === undefined || id === null) return 'it has no id';
  if (typeof id === 'bigint' || (typeof id === 'number' && Number.isInteger(id))) {
    return id >= 0 && BigInt(id) <= MAX_ID ? undefined : `id: ${id} is not an integer from 0 to ${MAX_ID}`;
  }
  const shown = JSON.stringify(id);
  if (hasStringIds) {
    return typeof id === 'string' && id !== '' && Buffer.byteLength(id) <= MAX_ID_BYTES
      ? undefined
      : `id: ${shown} is neither an integer nor a string of 1 to ${MAX_ID_BYTES} bytes`;
  }
  return typeof id === 'string' && UUID.test(id)
    ? undefined
    : `id: ${shown} is neither an unsigned integer nor a UUID`;
}

function vectorsProblem(given: unknown, expected: Dimensions | undefined): string | undefined {
  if (expected === undefined) return undefined;
  if (Array.isArray(given)) return vectorProblem('', given, expected);
  if (typeof given !== 'object' || given === null) return 'it has no vector';
  // A text for the unnamed vector (C16).
  if (typeof (given as { text?: unknown }).text === 'string' && expected.has('')) return undefined;
  for (const [name, vector] of Object.entries(given)) {
    const problem = vectorProblem(name, vector, expected);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Texts are not checked here: the model that embeds them reports what is wrong with them. */
function vectorProblem(name: string, vector: unknown, expected: Dimensions): string | undefined {
  if (!expected.has(name)) return name === '' ? 'the vector has no name' : `there is no vector ${name}`;
  const size = expected.get(name);
  if (size === undefined || !Array.isArray(vector)) return undefined;
  const rows = (Array.isArray(vector[0]) ? vector : [vector]) as readonly (readonly unknown[])[];
  const wrong = rows.find((row) => row.length !== size);
  return wrong === undefined
    ? undefined
    : `the vector${name === '' ? '' : ` ${name}`} has the dimension ${wrong.length}, not ${size}`;
}
