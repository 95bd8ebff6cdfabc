import type { EngineErrorCode, EngineErrorDetails, Operation } from '../engine/types';

/** The dialects of the interface (C12). */
export const DIALECT_NAMES = ['specification', 'qdrant'] as const;

export type DialectName = (typeof DIALECT_NAMES)[number];

/** The sentence of a refusal. */
type Sentence = (details: EngineErrorDetails, operation: Operation) => string;

/** Everything in which the dialects differ (C12). */
export interface Dialect {
  /** As `GET /` names it. */
  readonly name: DialectName;
  /**
   * The engine passes over what is harmless, and warns of it: `Strictness` in `crates/engine/src/api/strictness.rs` says what
   * that is.
   */
  readonly isLenient: boolean;
  /** Endpoints of C8 that are built answer; the others are a 501 in either dialect. */
  readonly servesGroups: boolean;
  /** Sentences in place of those of the error table: of a 404, and of vectors that the collection does not declare so. */
  readonly sentences: Readonly<Partial<Record<EngineErrorCode, Sentence>>>;
  /** What `/livez` and `/healthz`, and `/readyz`, answer as a text; an object in JSON where absent. */
  readonly health?: { readonly alive: string; readonly ready: string };
}

/** Each dialect: the one place that says what differs. */
export const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  specification: { name: 'specification', isLenient: false, servesGroups: false, sentences: {} },
  qdrant: {
    name: 'qdrant',
    isLenient: true,
    servesGroups: true,
    sentences: {
      collection_not_found: ({ name = '', place }) =>
        place === 'with_lookup'
          ? `Not found: Collection ${name} not found`
          : `Not found: Collection \`${name}\` doesn't exist!`,
      alias_not_found: ({ name = '' }) => `Not found: Alias ${name} does not exists!`,
      point_not_found: ({ ids = [] }, operation) =>
        operation === 'get_point'
          ? `Not found: Point with id ${ids[0] ?? ''} does not exists!`
          : `Not found: No point with id ${ids[0] ?? ''} found`,
      point_without_vector: ({ id = '', name = '' }) =>
        `Not found: Vector with name "${name}" for point ${id} not found`,
      vector_not_found: ({ name = '' }) => `Wrong input: Not existing vector name error: ${name}`,
      dimension_mismatch: ({ expected = '?', got = '?' }) =>
        `Wrong input: Vector dimension error: expected dim: ${expected}, got ${got}`,
    },
    health: { alive: 'healthz check passed', ready: 'all shards are ready' },
  },
};

/** What the dialect says of a failure in place of the error table; undefined where it says nothing of its own. */
export function sentenceOf(
  { sentences }: Dialect,
  code: EngineErrorCode,
  details: EngineErrorDetails,
  operation: Operation,
): string | undefined {
  // A code of an engine of another version may be the name of something that every object has.
  return Object.hasOwn(sentences, code) ? sentences[code]?.(details, operation) : undefined;
}
