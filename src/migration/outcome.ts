/** What became of a collection. */
export interface CollectionOutcome {
  readonly name: string;
  /** Points that the source has. */
  readonly points: number;
  /** Points that are stored. */
  readonly stored: number;
  /** Points that were refused. */
  readonly rejected: number;
  /** Indexes over payloads that were made. */
  readonly indexes: number;
  /** What is not migrated or became something else, one sentence each. */
  readonly remarks: readonly string[];
  readonly compared: Comparison | undefined;
  /** Why it is not migrated. */
  readonly failure?: string;
}

/** A collection beside the one that it was made of. */
export interface Comparison {
  /** Points of the source and of the target when all was copied. */
  readonly source: number;
  readonly target: number;
  /** How many points were compared one by one. */
  readonly sampled: number;
  /** Ids of those that differ or are missing. */
  readonly different: readonly string[];
}

/** Whether everything of a collection is there. */
export function isWhole({ failure, rejected, compared }: CollectionOutcome): boolean {
  if (failure !== undefined || rejected > 0 || compared === undefined) return false;
  return compared.source === compared.target && compared.different.length === 0;
}
