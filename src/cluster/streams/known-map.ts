import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceSynced } from '../../files/synced';
import { isCount, isObject } from '../json';

const FILE = 'cluster-map.json';
const FORMAT = 1;

/** The stream of the shard map, as a node has seen it. */
export interface SeenMap {
  /** When the log servers made it, as they write it. */
  readonly created: string;
  /** The sequence of the last event that the node knows. */
  readonly lastSequence: number;
}

/** The shard map of the cluster was lost, or is not the one that this node belongs to: it must not go on. */
export class MapLostError extends Error {
  constructor(what: string) {
    super(
      `the shard map of the cluster was lost: ${what}. The data of this node is as it was; see docs/cluster.md`,
    );
    this.name = 'MapLostError';
  }
}

/**
 * What this node has seen of the stream of the shard map, in a file of its data directory: a node must not take an empty map, or
 * an older one, for the map, because it removes the replicas that the map does not give it.
 */
export class KnownMap {
  private constructor(
    private readonly path: string,
    private seen: SeenMap | undefined,
  ) {}

  /** @throws MapLostError for a file that is damaged */
  static async open(dataDir: string): Promise<KnownMap> {
    const path = join(dataDir, FILE);
    return new KnownMap(path, await read(path));
  }

  /** Whether this node has seen no map yet. */
  get isNew(): boolean {
    return this.seen === undefined;
  }

  /** Whether a stream that was made then is another one than this node has seen. */
  isOther(created: string): boolean {
    return this.seen !== undefined && this.seen.created !== created;
  }

  /** Why a stream is not the one that this node has seen; undefined where it is. */
  differenceTo({ created, lastSequence }: SeenMap): string | undefined {
    if (this.seen === undefined) return undefined;
    if (created !== this.seen.created) {
      return `its stream was made at ${created}, and the one that this node has read at ${this.seen.created}`;
    }
    return lastSequence < this.seen.lastSequence
      ? `its stream ends at ${lastSequence}, and this node has read ${this.seen.lastSequence} events of it`
      : undefined;
  }

  /** Writes what the node sees, where that is news. */
  async note(seen: SeenMap): Promise<void> {
    if (this.seen?.created === seen.created && seen.lastSequence <= this.seen.lastSequence) return;
    await replaceSynced(this.path, `${JSON.stringify({ format: FORMAT, ...seen })}\n`);
    this.seen = seen;
  }
}

async function read(path: string): Promise<SeenMap | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Said below.
  }
  const { format, created, lastSequence } = isObject(value) ? value : {};
  if (format !== FORMAT || typeof created !== 'string' || !isCount(lastSequence)) {
    throw new MapLostError(`${path} does not say which map this node has read`);
  }
  return { created, lastSequence };
}
