import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceSynced } from '../../files/synced';
import { isCount, isObject } from '../json';
import type { RecoveredMap } from '../map/event';
import { isSavedMap, savedMapOf, stateOf, type SavedMap } from '../map/saved';
import type { ShardMapState } from '../map/state';

const FILE = 'cluster-map.json';
const FORMAT = 2;
/** The format that has no map. */
const FORMAT_WITHOUT_MAP = 1;

/** The stream of the shard map, as a node has seen it. */
export interface SeenMap {
  /** When the log servers made it, as they write it. */
  readonly created: string;
  /** The sequence of the last event that the node knows. */
  readonly lastSequence: number;
}

/** What the file has; without the map where an earlier release wrote it. */
interface Saved extends SeenMap {
  readonly map?: SavedMap;
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
 * What this node has seen of the stream of the shard map, in a file of its data directory, and the map itself. A node must not
 * take an empty map, or an older one, for the map, because it removes the replicas that the map does not give it. The map is
 * what the directory is served alone with, and what a new stream is made of where the log servers have lost theirs.
 */
export class KnownMap {
  /** Writes follow one another. */
  #writing: Promise<void> = Promise.resolve();

  private constructor(
    readonly path: string,
    private saved: Saved | undefined,
  ) {}

  /** @throws MapLostError for a file that is damaged */
  static async open(dataDir: string): Promise<KnownMap> {
    const path = join(dataDir, FILE);
    return new KnownMap(path, await read(path));
  }

  /** Whether this node has seen no map yet. */
  get isNew(): boolean {
    return this.saved === undefined;
  }

  /** The stream that this node has seen; undefined for none. */
  get seen(): SeenMap | undefined {
    return this.saved;
  }

  /** The map as it was saved; undefined where there is none, or where an earlier release saved what this node has seen. */
  get state(): ShardMapState | undefined {
    const { map, lastSequence = 0 } = this.saved ?? {};
    return map && stateOf(map, lastSequence);
  }

  /** Whether a stream that was made then is another one than this node has seen. */
  isOther(created: string): boolean {
    return this.saved !== undefined && this.saved.created !== created;
  }

  /** Why a stream is not the one that this node has seen; undefined where it is. */
  differenceTo({ created, lastSequence }: SeenMap): string | undefined {
    if (this.saved === undefined) return undefined;
    if (created !== this.saved.created) {
      return `its stream was made at ${created}, and the one that this node has read at ${this.saved.created}`;
    }
    return lastSequence < this.saved.lastSequence
      ? `its stream ends at ${lastSequence}, and this node has read ${this.saved.lastSequence} events of it`
      : undefined;
  }

  /** Why this node must not take a map that goes on from a lost one; undefined where it has read no more of that. */
  differenceToRecovered({
    lost,
    lastSequence,
  }: Pick<RecoveredMap, 'lost' | 'lastSequence'>): string | undefined {
    if (this.saved === undefined) return undefined;
    if (lost !== this.saved.created) {
      return `its stream goes on from one that was made at ${lost}, and this node has read one that was made at ${this.saved.created}`;
    }
    return lastSequence < this.saved.lastSequence
      ? `its stream goes on from event ${lastSequence}, and this node has read ${this.saved.lastSequence} events`
      : undefined;
  }

  /** Writes what the node sees, where that is news. */
  note(created: string, state: ShardMapState): Promise<void> {
    const written = this.#writing.then(() => this.#write(created, state));
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #write(created: string, state: ShardMapState): Promise<void> {
    const { version: lastSequence } = state;
    const isKnown = this.saved?.created === created && lastSequence <= this.saved.lastSequence;
    if (isKnown && this.saved?.map !== undefined) return;
    const saved = { created, lastSequence, map: savedMapOf(state) };
    await replaceSynced(this.path, textOf(saved));
    this.saved = saved;
  }
}

/** The file: what is saved, with a checksum of its JSON before it. */
function textOf(saved: Required<Saved>): string {
  const json = jsonOf(saved);
  return `{"format":${FORMAT},"sha256":"${checksumOf(json)}",${json.slice(1)}\n`;
}

/** JSON that was written by `JSON.stringify` is the same when it is read and written again: no key of it is a number. */
function jsonOf({ created, lastSequence, map }: Required<Saved>): string {
  return JSON.stringify({ created, lastSequence, map });
}

function checksumOf(json: string): string {
  return createHash('sha256').update(json).digest('hex');
}

async function read(path: string): Promise<Saved | undefined> {
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
  const { format, created, lastSequence, map, sha256 } = isObject(value) ? value : {};
  if (isCount(format) && format > FORMAT) {
    throw new MapLostError(`${path} has format ${format}, which a later release of KithDB wrote`);
  }
  if (typeof created === 'string' && isCount(lastSequence)) {
    if (format === FORMAT_WITHOUT_MAP) return { created, lastSequence };
    const saved = { created, lastSequence, map: map as SavedMap };
    if (format === FORMAT && isSavedMap(map) && sha256 === checksumOf(jsonOf(saved))) return saved;
  }
  throw new MapLostError(`${path} is damaged: it does not say which map this node has read`);
}
