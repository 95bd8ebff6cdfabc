import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceSynced } from '../../files/synced';
import { isCount, isObject } from '../json';

const FILE = 'cluster-progress.json';

/**
 * Up to where the stream of each replica was read, in a file of the data directory. A replica whose shard is seldom written
 * has an old position, and would read the stream from there at each start. A file that is missing or old costs that and
 * nothing else: the engine knows what it has applied.
 */
export class Progress {
  #written = '';

  private constructor(
    private readonly path: string,
    private readonly positions: Map<string, number>,
    private readonly lacked: Map<string, number>,
  ) {}

  static async open(dataDir: string): Promise<Progress> {
    const path = join(dataDir, FILE);
    const { positions, lacked } = await read(path);
    return new Progress(path, positions, lacked);
  }

  of(replica: string): number {
    return this.positions.get(replica) ?? 0;
  }

  /** Every record up to the position was applied, durably, or is not for this replica. */
  note(replica: string, position: number): void {
    this.positions.set(replica, Math.max(position, this.of(replica)));
  }

  /** For a replica that is made anew or dropped. */
  forget(replica: string): void {
    this.positions.delete(replica);
  }

  /** The position of a record that the stream did not give to a replica; undefined where there is none. */
  lackedBy(replica: string): number | undefined {
    return this.lacked.get(replica);
  }

  /** Notes that the stream did not give a record to a replica: it has to be made of a checkpoint that has the record. */
  noteLacked(replica: string, position: number): void {
    this.lacked.set(replica, Math.max(position, this.lacked.get(replica) ?? 0));
  }

  /** For a replica that was made of such a checkpoint, or dropped. */
  forgetLacked(replica: string): void {
    this.lacked.delete(replica);
  }

  /** Writes what has changed since the last time. */
  async save(): Promise<void> {
    const [positions, lacked] = [this.positions, this.lacked].map((map) => Object.fromEntries(map));
    const text = JSON.stringify({ format: 1, positions, lacked });
    if (text === this.#written) return;
    await replaceSynced(this.path, text);
    this.#written = text;
  }
}

interface Saved {
  readonly positions: Map<string, number>;
  readonly lacked: Map<string, number>;
}

async function read(path: string): Promise<Saved> {
  try {
    const saved = JSON.parse(await readFile(path, 'utf8')) as Readonly<Record<string, unknown>>;
    if (saved['format'] === 1) {
      return { positions: countsIn(saved['positions']), lacked: countsIn(saved['lacked']) };
    }
  } catch {
    // What it would have saved is work.
  }
  return { positions: new Map(), lacked: new Map() };
}

function countsIn(value: unknown): Map<string, number> {
  const entries = isObject(value) ? Object.entries(value) : [];
  return new Map(entries.filter((entry): entry is [string, number] => isCount(entry[1])));
}
