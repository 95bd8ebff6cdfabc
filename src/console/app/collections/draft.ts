/** A collection that is being made: what the form holds, and the body that it stands for. */
import type { JsonObject } from '../service/exact-json';
import { quantizationOf } from './choices';

export interface VectorDraft {
  readonly key: number;
  readonly name: string;
  readonly kind: string;
  readonly size: string;
  readonly distance: string;
  readonly datatype: string;
  readonly quantization: string;
  readonly onDisk: string;
  readonly modifier: string;
  readonly m: string;
  readonly efConstruct: string;
}

export interface CollectionDraft {
  readonly name: string;
  readonly vectors: readonly VectorDraft[];
  readonly durability: string;
  /** A share, or empty for none. */
  readonly targetRecall: string;
  /** A path, or empty for none. */
  readonly expireAtKey: string;
  /** Which ids points have (C21). */
  readonly ids: string;
}

let nextKey = 0;

export function newVector(over: Partial<VectorDraft> = {}): VectorDraft {
  return {
    ...{ key: nextKey++, name: '', kind: 'dense', size: '384', distance: 'Cosine', datatype: 'float32' },
    ...{ quantization: 'none', onDisk: '', modifier: 'idf', m: '', efConstruct: '' },
    ...over,
  };
}

export function newCollection(): CollectionDraft {
  return {
    ...{ name: '', vectors: [newVector()], durability: 'always' },
    ...{ targetRecall: '', expireAtKey: '', ids: 'default' },
  };
}

/** The body of the creation. What has its default is left out. */
export function bodyOf(draft: CollectionDraft): JsonObject {
  const { vectors, durability, targetRecall, expireAtKey, ids } = draft;
  const sparse = vectors.filter(({ kind }) => kind === 'sparse');
  const dense = vectors.filter(({ kind }) => kind !== 'sparse');
  const [only] = dense;
  const body: JsonObject = {};
  if (dense.length === 1 && only?.name === '') body['vectors'] = denseOf(only);
  else if (dense.length > 0) body['vectors'] = Object.fromEntries(dense.map((of) => [of.name, denseOf(of)]));
  if (sparse.length > 0)
    body['sparse_vectors'] = Object.fromEntries(sparse.map((of) => [of.name, sparseOf(of)]));
  if (targetRecall !== '') body['hnsw_config'] = { target_recall: Number(targetRecall) };
  if (durability !== 'always') body['wal_config'] = { durability };
  if (expireAtKey !== '') body['expire_at_key'] = expireAtKey;
  if (ids !== 'default') body['ids'] = ids;
  return body;
}

export function denseOf(draft: VectorDraft): JsonObject {
  const hnsw: JsonObject = {
    ...(draft.m !== '' && { m: Number(draft.m) }),
    ...(draft.efConstruct !== '' && { ef_construct: Number(draft.efConstruct) }),
  };
  const quantization = quantizationOf(draft.quantization);
  return {
    size: Number(draft.size),
    distance: draft.distance,
    ...(draft.kind === 'multi' && { multivector_config: { comparator: 'max_sim' } }),
    ...(draft.datatype !== 'float32' && { datatype: draft.datatype }),
    ...(quantization !== undefined && { quantization_config: quantization }),
    ...(draft.onDisk !== '' && { on_disk: draft.onDisk === 'true' }),
    ...(Object.keys(hnsw).length > 0 && { hnsw_config: hnsw }),
  };
}

export function sparseOf({ modifier }: VectorDraft): JsonObject {
  return modifier === 'none' ? {} : { modifier };
}

/** What is missing before the server can be asked; it checks everything else itself. */
export function missingOf({ name, vectors }: CollectionDraft): string | undefined {
  if (name === '') return 'Give the collection a name.';
  const names = vectors.map((of) => of.name);
  if (vectors.some(({ kind, name: of }) => kind === 'sparse' && of === ''))
    return 'A sparse vector needs a name.';
  const dense = vectors.filter(({ kind }) => kind !== 'sparse');
  if (dense.length > 1 && dense.some((of) => of.name === '')) {
    return 'With several dense vectors each needs a name.';
  }
  if (new Set(names).size < names.length) return 'Two vectors have the same name.';
  return undefined;
}
