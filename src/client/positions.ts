/** As many positions as a server takes with one read (C30.4). */
const MOST = 64;

const POSITION = /^(\d{1,15}):(\d{1,15}):(\d{1,5}(?:\.\d{1,5})*)$/;

/**
 * The highest positions of writes in a cluster: for each collection, by its number there, and each of its shards. Where they are more
 * than a read may have, those of the collections that were written longest ago are dropped.
 */
export class Positions {
  /** The collections that were written last are at the end. */
  readonly #collections = new Map<string, Map<string, number>>();
  #tokens: readonly string[] = [];

  /** Takes up the positions of a header; what is no position is passed over, as that of a later release. */
  add(header: string): void {
    for (const token of header.split(',')) {
      const [, collection = '', sequence, shards = ''] = POSITION.exec(token.trim()) ?? [];
      if (sequence === undefined) continue;
      const known = this.#collections.get(collection) ?? new Map<string, number>();
      for (const shard of shards.split('.')) {
        known.set(shard, Math.max(Number(sequence), known.get(shard) ?? 0));
      }
      this.#collections.delete(collection);
      this.#collections.set(collection, known);
    }
    this.#tokens = this.#written();
  }

  /** What a read sends to see these writes and those of `others`; undefined for none. */
  header(others?: string): string | undefined {
    const given = others === undefined ? [] : others.split(',').map((token) => token.trim());
    const own = this.#tokens.filter((token) => !given.includes(token));
    const tokens = [...given, ...own.slice(0, Math.max(0, MOST - given.length))];
    return tokens.length === 0 ? undefined : tokens.join(', ');
  }

  /** The positions as headers have them, the last ones first; drops the collections beyond `MOST` of them. */
  #written(): readonly string[] {
    const tokens: string[] = [];
    for (const [collection, shards] of [...this.#collections].reverse()) {
      if (tokens.length >= MOST) this.#collections.delete(collection);
      else tokens.push(...tokensOf(collection, shards));
    }
    return tokens.slice(0, MOST);
  }
}

/** One position for all shards that have the same, the highest first. */
function tokensOf(collection: string, shards: ReadonlyMap<string, number>): string[] {
  const bySequence = new Map<number, string[]>();
  for (const [shard, sequence] of shards) {
    bySequence.set(sequence, [...(bySequence.get(sequence) ?? []), shard]);
  }
  return [...bySequence]
    .sort(([one], [other]) => other - one)
    .map(([sequence, of]) => `${collection}:${sequence}:${of.join('.')}`);
}
