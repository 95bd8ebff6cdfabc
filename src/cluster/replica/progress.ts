import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceSynced } from '../../files/synced';

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
  ) {}

  static async open(dataDir: string): Promise<Progress> {
    const path = join(dataDir, FILE);
    return new Progress(path, await read(path));
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

  /** Writes what has changed since the last time. */
  async save(): Promise<void> {
    const text = JSON.stringify({ format: 1, positions: Object.fromEntries(this.positions) });
    if (text === this.#written) return;
    await replaceSynced(this.path, text);
    this.#written = text;
  }
}

async function read(path: string): Promise<Map<string, number>> {
  try {
    const { format, positions } = JSON.parse(await readFile(path, 'utf8')) as {
      readonly format?: unknown;
      readonly positions?: Readonly<Record<string, unknown>>;
    };
    const entries = format === 1 ? Object.entries(positions ?? {}) : [];
    return new Map(entries.filter((entry): entry is [string, number] => Number.isSafeInteger(entry[1])));
  } catch {
    return new Map();
  }
}
