/** The form of the header `KithDB-Position`: the positions of writes in a cluster, separated by commas (C30.4). */

/** As many positions as a server takes with one read. */
export const MAX_POSITIONS = 64;

/** Where a write is in the stream of its collection. */
export interface Position {
  /** The number of the collection in the shard map. */
  readonly collection: number;
  readonly sequence: number;
  /** The shards that the write changed. */
  readonly shards: readonly number[];
}

const POSITION = /^(\d{1,15}):(\d{1,15}):(\d{1,5}(?:\.\d{1,5})*)$/;

/** The texts of the single positions of a header, of the first `limit` of them. */
export function splitPositions(header: string, limit?: number): string[] {
  return header.split(',', limit).map((text) => text.trim());
}

/** The position that a text is; undefined where it is none. */
export function parsePosition(text: string): Position | undefined {
  const [, collection, sequence, shards] = POSITION.exec(text) ?? [];
  if (shards === undefined) return undefined;
  return {
    collection: Number(collection),
    sequence: Number(sequence),
    shards: shards.split('.').map(Number),
  };
}

/** A position as a header has it. */
export function positionText({ collection, sequence, shards }: Position): string {
  return `${collection}:${sequence}:${shards.join('.')}`;
}
