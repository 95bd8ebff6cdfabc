import { MAX_POSITIONS, parsePosition, positionText, splitPositions } from '../http/positions';

/**
 * The highest positions of writes in a cluster: for each collection, by its number there, and each of its shards. Where they are more
 * than a read may have, those of the collections that were written longest ago are dropped.
 */
export class Positions {
  /** The collections that were written last are at the end. */
  readonly #collections = new Map<number, Map<number, number>>();
  #tokens: readonly string[] = [];

  /** Takes up the positions of a header; what is no position is passed over, as that of a later release. */
  add(header: string): void {
    for (const text of splitPositions(header)) {
      const position = parsePosition(text);
      if (position === undefined) continue;
      const { collection, sequence, shards } = position;
      const known = this.#collections.get(collection) ?? new Map<number, number>();
      for (const shard of shards) known.set(shard, Math.max(sequence, known.get(shard) ?? 0));
      this.#collections.delete(collection);
      this.#collections.set(collection, known);
    }
    this.#tokens = this.#written();
  }

  /** What a read sends to see these writes and those of `others`; undefined for none. */
  header(others?: string): string | undefined {
    const given = others === undefined ? [] : splitPositions(others);
    const own = this.#tokens.filter((token) => !given.includes(token));
    const tokens = [...given, ...own.slice(0, Math.max(0, MAX_POSITIONS - given.length))];
    return tokens.length === 0 ? undefined : tokens.join(', ');
  }

  /** The positions as headers have them, the last ones first; drops the collections beyond `MAX_POSITIONS` of them. */
  #written(): readonly string[] {
    const tokens: string[] = [];
    for (const [collection, shards] of [...this.#collections].reverse()) {
      if (tokens.length >= MAX_POSITIONS) this.#collections.delete(collection);
      else tokens.push(...tokensOf(collection, shards));
    }
    return tokens.slice(0, MAX_POSITIONS);
  }
}

/** One position for all shards that have the same, the highest first. */
function tokensOf(collection: number, positions: ReadonlyMap<number, number>): string[] {
  const bySequence = new Map<number, number[]>();
  for (const [shard, sequence] of positions) {
    bySequence.set(sequence, [...(bySequence.get(sequence) ?? []), shard]);
  }
  return [...bySequence]
    .sort(([one], [other]) => other - one)
    .map(([sequence, shards]) => positionText({ collection, sequence, shards }));
}
