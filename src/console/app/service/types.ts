/** What the console reads of the answers of the server. openapi.yaml describes them in full. */
import type { JsonObject, JsonValue, RawNumber } from './exact-json';

export type PointId = number | string | RawNumber;

export interface Welcome {
  readonly version: string;
  readonly kithdb_version: string;
  readonly dialect: string;
}

export interface DenseParams {
  readonly size: number;
  readonly distance: string;
  readonly datatype?: string | null;
  readonly on_disk?: boolean | null;
  readonly multivector_config?: { readonly comparator: string } | null;
  readonly quantization_config?: JsonObject | null;
  readonly hnsw_config?: JsonObject | null;
}

export interface SparseParams {
  readonly modifier?: string | null;
}

export interface FieldIndex {
  readonly data_type: string;
  readonly points: number;
}

/** What was measured of the recall of searches: a share, and its interval of 95 % (C14). */
export interface RecallEstimate {
  readonly recall: number;
  readonly low: number;
  readonly high: number;
  /** Queries that were measured. */
  readonly samples: number;
  /** Seconds since 1970. */
  readonly at: number;
}

/** The model that a vector field is of (C19). */
export interface FieldModel {
  readonly name: string;
  /** Where payloads have the texts. */
  readonly text_key?: string;
}

export interface CollectionInfo {
  readonly status: 'green' | 'yellow' | 'grey' | 'red';
  readonly optimizer_status: 'ok' | { readonly error: string };
  readonly warnings: readonly { readonly message: string }[];
  /** Null for a token with a filter (C15), as is the number of points. */
  readonly indexed_vectors_count: number | null;
  readonly points_count: number | null;
  readonly recall_estimate?: RecallEstimate | null;
  readonly size?: { readonly memory_bytes: number; readonly disk_bytes: number } | null;
  /** The path of the value that says when a point expires (C17). */
  readonly expire_at_key?: string;
  /** Only where ids are strings (C21). */
  readonly ids?: 'string';
  /** The declared models by vector; absent where there is none (C19). */
  readonly vector_models?: Readonly<Record<string, FieldModel>>;
  /** The vectors that are being embedded anew, with the points that are done and all; absent where there is none (C19). */
  readonly reembeddings?: Readonly<Record<string, { readonly done: number; readonly total: number }>>;
  readonly config: {
    readonly params: {
      readonly vectors?: DenseParams | Readonly<Record<string, DenseParams>>;
      readonly sparse_vectors?: Readonly<Record<string, SparseParams | null>>;
    };
    readonly hnsw_config: JsonObject;
    readonly optimizer_config: JsonObject;
    readonly wal_config: JsonObject;
    readonly quantization_config: JsonObject | null;
    readonly strict_mode_config?: JsonObject | null;
    readonly metadata?: JsonObject | null;
  };
  readonly payload_schema: Readonly<Record<string, FieldIndex>>;
  /** Whether it is in memory; absent for a token with a filter, and where it is quarantined (C24). */
  readonly residency?: {
    readonly setting: string;
    readonly state: string;
    readonly opened_ms: number | null;
  };
  /** Those that the server made by itself; absent where there is none (C23). */
  readonly auto_indexes?: Readonly<Record<string, FieldIndex>>;
}

/** A point as a page or a search gives it. */
export interface Point {
  readonly id: PointId;
  readonly version?: number;
  readonly score?: number | RawNumber;
  readonly payload?: JsonObject | null;
  readonly vector?: JsonValue;
}

export interface Page {
  readonly points: readonly Point[];
  readonly next_page_offset: PointId | null;
}

/** Collections by their name or the beginning of their names, and what a token may do there (C15). */
export interface CollectionGrant {
  readonly name?: string;
  readonly prefix?: string;
  readonly permission: string;
}

export interface AccessToken {
  readonly id: number;
  readonly name: string;
  readonly description: string | null;
  readonly created_at: string;
  readonly expired_at: string | null;
  readonly permission: string;
  readonly collections?: readonly CollectionGrant[];
  readonly filter?: JsonObject;
}

export interface IssuedToken extends AccessToken {
  readonly token: string;
}

/** A vector field: `name` is empty for the unnamed one. */
export interface VectorField {
  readonly name: string;
  readonly kind: 'dense' | 'multi' | 'sparse';
  /** Parameters of a dense field, multi-vector fields included. */
  readonly params?: DenseParams;
  /** The modifier of a sparse field. */
  readonly modifier?: string | undefined;
}

/** The vector fields of a collection, the unnamed one first. */
export function vectorFields({ config: { params } }: CollectionInfo): readonly VectorField[] {
  const { vectors = {}, sparse_vectors: sparse = {} } = params;
  const dense = typeof vectors.size === 'number' ? { '': vectors as DenseParams } : vectors;
  return [
    ...Object.entries(dense as Readonly<Record<string, DenseParams>>).map(([name, of]): VectorField => ({
      name,
      kind: of.multivector_config ? 'multi' : 'dense',
      params: of,
    })),
    ...Object.entries(sparse).map(([name, of]): VectorField => ({
      name,
      kind: 'sparse',
      modifier: of?.modifier ?? undefined,
    })),
  ];
}

/** The name of a field as people read it. */
export function fieldLabel({ name, kind, params }: VectorField): string {
  const shape = kind === 'sparse' ? 'sparse' : `${params?.size ?? '?'} · ${params?.distance ?? ''}`;
  return `${name === '' ? 'unnamed' : name} (${kind === 'multi' ? 'multi, ' : ''}${shape})`;
}

/**
 * An id as text, and as a key: a string is in JSON quotes where it could be taken for another id, or has a control character,
 * which a field would drop (C21).
 */
export function idText(id: PointId): string {
  if (typeof id === 'object') return id.rawJSON;
  if (typeof id === 'number') return String(id);
  return /^(?:\d+|".*|\s.*|.*\s|.*\p{Cc}.*|)$/su.test(id) ? JSON.stringify(id) : id;
}

/** Ids that a collection takes, as they are typed. */
export function idExamples({ ids }: CollectionInfo): string {
  return ids === 'string' ? '7, "7" or doc 1' : '7 or a UUID';
}

/** The id that a text stands for; undefined where it is none. */
export function parseId(text: string): PointId | undefined {
  const trimmed = text.trim();
  if (/^\d+$/.test(trimmed)) {
    const value = Number(trimmed);
    if (Number.isSafeInteger(value)) return value;
    const { rawJSON } = JSON as unknown as { rawJSON?: (text: string) => RawNumber };
    return rawJSON?.(trimmed.replace(/^0+(?=\d)/, ''));
  }
  if (!trimmed.startsWith('"')) return trimmed === '' ? undefined : trimmed;
  try {
    const unquoted: unknown = JSON.parse(trimmed);
    return typeof unquoted === 'string' ? unquoted : undefined;
  } catch {
    return undefined;
  }
}
