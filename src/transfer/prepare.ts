import { NotFoundError } from '../client/errors';
import type { Transport } from '../client/transport';
import { isRejected, SourceError, type Source } from './row';

/** What a collection is created with, where it is missing. */
export interface NewCollection {
  readonly distance: string | undefined;
  /** Which ids its points have; the default when absent (C21). */
  readonly ids: string | undefined;
}

/**
 * Sees that a collection exists. With a distance a missing one is created, with the vectors of the first row of `source`.
 * Resolves with whether its ids are strings.
 * @throws SourceError when it is missing and cannot be created
 */
export async function prepareCollection(
  transport: Transport,
  collection: string,
  source: Source,
  { distance, ids }: NewCollection,
): Promise<boolean> {
  try {
    const { result } = await transport.execute({ operation: 'collection_info', collection });
    return (result as { readonly ids?: string }).ids === 'string';
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    if (distance === undefined) {
      throw new SourceError(`Collection not found: ${collection}. --distance DISTANCE creates it`);
    }
    const vectors = await vectorsOfFirst(source, distance);
    const body = { ...vectors, ...(ids !== undefined && { ids }) };
    await transport.execute({ operation: 'create_collection', collection, body });
    return ids === 'string';
  }
}

/** The vectors of a new collection, by the first row of a source that is a point. @throws SourceError when it has none */
export async function vectorsOfFirst(source: Source, distance: string): Promise<NewVectors> {
  return vectorsOf(await firstVector(source), distance);
}

/** The vectors of a body that creates a collection. */
export interface NewVectors {
  readonly vectors: NewVector | Readonly<Record<string, NewVector>>;
  readonly sparse_vectors?: Readonly<Record<string, unknown>>;
}

interface NewVector {
  readonly size: number;
  readonly distance: string;
}

async function firstVector(source: Source): Promise<unknown> {
  let first: string | undefined;
  for await (const row of source.rows(0)) {
    if (isRejected(row)) {
      first ??= `${row.place}: ${row.reason}`;
      continue;
    }
    try {
      const { vector, vectors } = JSON.parse(String(row.json)) as { vector?: unknown; vectors?: unknown };
      return vector ?? vectors;
    } catch {
      continue;
    }
  }
  const why = first === undefined ? '' : ` (${first})`;
  throw new SourceError(`No row is a point${why}, so the dimension of a new collection is not known`);
}

function vectorsOf(vector: unknown, distance: string): NewVectors {
  const dense = sizeOf(vector);
  if (dense !== undefined) {
    return { vectors: { size: dense, distance } };
  }
  const fields = Object.entries((vector ?? {}) as Record<string, unknown>);
  const sparse = fields.filter(([, value]) => isSparse(value)).map(([name]) => [name, {}] as const);
  const named = fields
    .filter(([, value]) => !isSparse(value))
    .map(([name, value]) => {
      const size = sizeOf(value);
      if (size === undefined)
        throw new SourceError(`The vector ${name} of the first row is neither dense nor sparse`);
      return [name, { size, distance }] as const;
    });
  if (fields.length === 0) {
    throw new SourceError('The first row has no vector, so the dimension of a new collection is not known');
  }
  return { vectors: Object.fromEntries(named), sparse_vectors: Object.fromEntries(sparse) };
}

function sizeOf(vector: unknown): number | undefined {
  return Array.isArray(vector) && typeof vector[0] === 'number' ? vector.length : undefined;
}

function isSparse(vector: unknown): boolean {
  return typeof vector === 'object' && vector !== null && 'indices' in vector;
}
