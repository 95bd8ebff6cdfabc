import { BadRequestError } from '../client/errors';
import type { Transport } from '../client/transport';
import { RequestBodies, type RequestBody } from './request-body';
import { isRejected, rowsAtOnce, type Block, type Point, type Rejected, type Source } from './row';

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
  /** The ordinal behind its last row. */
  readonly next: number;
}

/** The status of a body in a form that the server does not know. */
const UNSUPPORTED = 415;

/** Sends the rows of a source as points. Resolves with the number of points that are stored. */
export function importPoints(options: ImportOptions): Promise<number> {
  return new Import(options).run();
}

class Import {
  readonly #running = new Set<Promise<void>>();
  readonly #done = new Map<number, Batch>();
  readonly #bodies: RequestBodies;
  #body: RequestBody;
  #batches = 0;
  /** The number of the first batch that is not done. */
  #first = 0;
  #stored = 0;
  #failure: { readonly error: unknown } | undefined;
  /** Whether blocks are sent before anybody has looked at them. */
  #sendsBlocks = true;

  constructor(private readonly options: ImportOptions) {
    this.#bodies = new RequestBodies(options.batchPoints, options.batchBytes);
    this.#body = this.#bodies.take();
  }

  async run(): Promise<number> {
    const { source, from, batchPoints } = this.options;
    const blocks = source.blocks?.(from, batchPoints);
    try {
      await (blocks === undefined ? this.#sendRows() : this.#sendBlocks(blocks));
    } finally {
      await Promise.all(this.#running);
    }
    this.#rethrow();
    return this.#stored;
  }

  async #sendRows(): Promise<void> {
    const { source, from, reject } = this.options;
    let next = from;
    for await (const rows of rowsAtOnce(source, from)) {
      for (const row of rows) {
        next = row.ordinal + 1;
        if (isRejected(row)) {
          reject(row);
          continue;
        }
        if (!this.#body.hasRoomFor(row)) await this.#sendBody(row.ordinal);
        this.#body.add(row);
      }
    }
    await this.#sendBody(next);
  }

  async #sendBlocks(blocks: AsyncIterable<Block>): Promise<void> {
    for await (const block of blocks) await this.#send(block.next, () => this.#storeBlock(block));
  }

  /** Sends what has been gathered. `next` is the ordinal behind its last row. */
  async #sendBody(next: number): Promise<void> {
    const body = this.#body;
    this.#body = this.#bodies.take();
    await this.#send(next, () => this.#storeBatch(body));
  }

  /** Stores a batch, when one more request may be under way. `next` is the ordinal behind its last row. */
  async #send(next: number, store: () => Promise<void>): Promise<void> {
    const batch: Batch = { number: this.#batches, next };
    this.#batches += 1;
    while (this.#running.size >= this.options.parallel) {
      await Promise.race(this.#running);
    }
    this.#rethrow();
    const sending = store()
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

  /** Sends a block as it is. Only where it is refused its rows are looked at, one by one. */
  async #storeBlock(block: Block): Promise<void> {
    let refusal: BadRequestError | undefined;
    if (this.#sendsBlocks) {
      refusal = await this.#upsert(block.bytes, block.count, true);
      if (refusal === undefined) {
        block.release();
        return;
      }
      // The server is older than such bodies.
      if (refusal.status === UNSUPPORTED) [this.#sendsBlocks, refusal] = [false, undefined];
    }
    const points = this.#pointsOf(block);
    const isAsSent = points.length === block.count && points.every(({ json }) => typeof json !== 'string');
    await (refusal !== undefined && isAsSent
      ? this.#storeWithout(points, refusal.message)
      : this.#store(points));
  }

  #pointsOf(block: Block): readonly Point[] {
    const points: Point[] = [];
    for (const row of block.rows()) {
      if (isRejected(row)) {
        this.options.reject(row);
        continue;
      }
      points.push(row);
      // Every block of a file whose vectors are in base64 would be refused: from here on they are looked at first.
      if (typeof row.json === 'string') this.#sendsBlocks = false;
    }
    return points;
  }

  /** Stores points; of those that the service refuses each is rejected by itself. */
  async #storeBatch(body: RequestBody): Promise<void> {
    if (body.points === 0) return;
    const refusal = await this.#upsert(body.bytes(), body.points);
    // What was refused may still be on its way, so its memory is not used again.
    if (refusal === undefined) this.#bodies.giveBack(body);
    else await this.#storeWithout(body.texts(), refusal.message);
  }

  async #store(points: readonly Point[]): Promise<void> {
    if (points.length === 0) return;
    const body = this.#bodies.take();
    for (const point of points) body.add(point);
    const refusal = await this.#upsert(body.bytes(), body.points);
    if (refusal === undefined) this.#bodies.giveBack(body);
    else await this.#storeWithout(points, refusal.message);
  }

  /** Sends points. Resolves with a refusal; undefined when they are stored. */
  async #upsert(body: Buffer, points: number, isLines = false): Promise<BadRequestError | undefined> {
    const { transport, collection } = this.options;
    const flags = { wait: true };
    try {
      await transport.execute({ operation: 'upsert_points', collection, flags, body, isLines });
      this.#stored += points;
      return undefined;
    } catch (error) {
      if (!(error instanceof BadRequestError)) throw error;
      return error;
    }
  }

  async #storeWithout(points: readonly Point[], reason: string): Promise<void> {
    const [only, ...others] = points;
    if (only !== undefined && others.length === 0) {
      this.options.reject({ ...only, text: String(only.json), reason: withoutPlace(reason) });
      return;
    }
    const named = /\bpoints\[(\d+)\]/.exec(reason)?.[1];
    const at = named === undefined || brokenJson(points) ? undefined : Number(named);
    const bad = at === undefined ? undefined : points[at];
    if (bad !== undefined) {
      this.options.reject({ ...bad, text: String(bad.json), reason: withoutPlace(reason) });
      await this.#store(points.filter((point) => point !== bad));
      return;
    }
    const middle = points.length >> 1;
    await this.#store(points.slice(0, middle));
    await this.#store(points.slice(middle));
  }
}

/** A reason without the place of the row in its request. */
function withoutPlace(reason: string): string {
  return reason.replace(/\bpoints\[\d+\]\.?/, '');
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
