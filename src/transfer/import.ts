import { BadRequestError } from '../client/errors';
import type { Transport } from '../client/transport';
import { isRejected, type Point, type Rejected, type Source } from './row';

/** How an import sends points. */
export interface ImportOptions {
  readonly transport: Transport;
  readonly collection: string;
  readonly source: Source;
  /** The ordinal of the first row to send: those before are there already. */
  readonly from: number;
  /** Points and bytes of JSON of one request at most. A request is all or nothing (C1.7). */
  readonly batchPoints: number;
  readonly batchBytes: number;
  /** Requests under way at the same time. With more than one, the order of two rows with the same id is not kept. */
  readonly parallel: number;
  /** Called for a row that is no point, or that the service refuses; throws to end the import. */
  readonly reject: (row: Rejected) => void;
  /** Called after each request: all rows before `next` are stored or rejected. */
  readonly progressed: (stored: number, next: number) => void;
}

/** Points of one request. */
interface Batch {
  readonly number: number;
  readonly points: readonly Point[];
  /** The ordinal behind its last row. */
  readonly next: number;
}

/** Sends the rows of a source as points. Resolves with the number of points that are stored. */
export function importPoints(options: ImportOptions): Promise<number> {
  return new Import(options).run();
}

class Import {
  readonly #running = new Set<Promise<void>>();
  readonly #done = new Map<number, Batch>();
  #points: Point[] = [];
  #bytes = 0;
  #batches = 0;
  /** The number of the first batch that is not done. */
  #first = 0;
  #stored = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(private readonly options: ImportOptions) {}

  async run(): Promise<number> {
    const { source, from, batchPoints, batchBytes, reject } = this.options;
    let next = from;
    try {
      for await (const row of source.rows(from)) {
        next = row.ordinal + 1;
        if (isRejected(row)) {
          reject(row);
          continue;
        }
        const size = Buffer.byteLength(row.json);
        if (
          this.#points.length >= batchPoints ||
          (this.#points.length > 0 && this.#bytes + size > batchBytes)
        ) {
          await this.#send(row.ordinal);
        }
        this.#points.push(row);
        this.#bytes += size;
      }
      await this.#send(next);
    } finally {
      await Promise.all(this.#running);
    }
    this.#rethrow();
    return this.#stored;
  }

  /** Sends what has been gathered, when one more request may be under way. `next` is the ordinal behind its last row. */
  async #send(next: number): Promise<void> {
    const batch: Batch = { number: this.#batches, points: this.#points, next };
    this.#batches += 1;
    this.#points = [];
    this.#bytes = 0;
    while (this.#running.size >= this.options.parallel) {
      await Promise.race(this.#running);
    }
    this.#rethrow();
    const sending = this.#store(batch.points)
      .then(() => {
        this.#finish(batch);
      })
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#running.delete(sending);
      });
    this.#running.add(sending);
  }

  #rethrow(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Requests end in any order; what counts as done is without gaps. */
  #finish(batch: Batch): void {
    this.#done.set(batch.number, batch);
    let next: number | undefined;
    for (let done = this.#done.get(this.#first); done !== undefined; done = this.#done.get(this.#first)) {
      this.#done.delete(this.#first);
      this.#first += 1;
      next = done.next;
    }
    if (next !== undefined) {
      this.options.progressed(this.#stored, next);
    }
  }

  /** Stores points; of those that the service refuses each is rejected by itself. */
  async #store(points: readonly Point[]): Promise<void> {
    if (points.length === 0) return;
    const body = bodyOf(points);
    const { transport, collection } = this.options;
    try {
      await transport.execute({ operation: 'upsert_points', collection, flags: { wait: true }, body });
      this.#stored += points.length;
    } catch (error) {
      if (!(error instanceof BadRequestError)) throw error;
      await this.#storeWithout(points, error.message);
    }
  }

  async #storeWithout(points: readonly Point[], reason: string): Promise<void> {
    const [only, ...others] = points;
    if (only !== undefined && others.length === 0) {
      this.options.reject({ ...only, text: String(only.json), reason });
      return;
    }
    const named = /\bpoints\[(\d+)\]/.exec(reason)?.[1];
    const at = named === undefined || brokenJson(points) ? undefined : Number(named);
    const bad = at === undefined ? undefined : points[at];
    if (bad !== undefined) {
      this.options.reject({
        ...bad,
        text: String(bad.json),
        reason: reason.replace(/\bpoints\[\d+\]\.?/, ''),
      });
      await this.#store(points.filter((point) => point !== bad));
      return;
    }
    const middle = points.length >> 1;
    await this.#store(points.slice(0, middle));
    await this.#store(points.slice(middle));
  }
}

const BEFORE = Buffer.from('{"points":[');
const BETWEEN = Buffer.from(',\n');
const BEHIND = Buffer.from(']}');

function bodyOf(points: readonly Point[]): Buffer {
  const parts = points.flatMap(({ json }, at) => {
    const bytes = typeof json === 'string' ? Buffer.from(json) : json;
    return at === 0 ? [bytes] : [BETWEEN, bytes];
  });
  return Buffer.concat([BEFORE, ...parts, BEHIND]);
}

/** Whether a text is no JSON: then the places of a message may not be those of the rows. */
function brokenJson(points: readonly Point[]): boolean {
  return points.some(({ json }) => {
    try {
      JSON.parse(String(json));
      return false;
    } catch {
      return true;
    }
  });
}
