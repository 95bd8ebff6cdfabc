import type { Point, PointJson } from './row';

const BEFORE = Buffer.from('{"points":[');
const COMMA = 0x2c;
const LINE_BREAK = 0x0a;
const BEHIND = Buffer.from(']}');

/** A point of a body: where its text is. */
interface Place {
  readonly ordinal: number;
  readonly place: string;
  readonly start: number;
  readonly end: number;
}

/** The body of an upsert, to which points are added. */
export class RequestBody {
  #places: Place[] = [];
  #length = 0;

  constructor(
    private memory: Buffer,
    private readonly mostPoints: number,
    private readonly mostBytes: number,
  ) {
    this.clear();
  }

  get points(): number {
    return this.#places.length;
  }

  /** The first point has room, however long it is. */
  hasRoomFor({ json }: Point): boolean {
    const bytes = this.#length - BEFORE.length + byteLength(json);
    return this.points === 0 || (this.points < this.mostPoints && bytes <= this.mostBytes);
  }

  /** Copies the text of a point. */
  add({ ordinal, place, json }: Point): void {
    const bytes = byteLength(json);
    this.#reserve(2 + bytes + BEHIND.length);
    if (this.points > 0) {
      this.memory[this.#length] = COMMA;
      this.memory[this.#length + 1] = LINE_BREAK;
      this.#length += 2;
    }
    const start = this.#length;
    if (typeof json === 'string') this.memory.write(json, start);
    else this.memory.set(json, start);
    this.#length += bytes;
    this.#places.push({ ordinal, place, start, end: this.#length });
  }

  /** The whole body. */
  bytes(): Buffer {
    BEHIND.copy(this.memory, this.#length);
    return this.memory.subarray(0, this.#length + BEHIND.length);
  }

  /** The points with texts of their own. */
  texts(): readonly Point[] {
    return this.#places.map(({ ordinal, place, start, end }) => ({
      ordinal,
      place,
      json: this.memory.toString('utf8', start, end),
    }));
  }

  clear(): void {
    this.#places = [];
    this.#length = BEFORE.copy(this.memory);
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.memory.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.memory.length));
    this.memory.copy(larger, 0, 0, this.#length);
    this.memory = larger;
  }
}

function byteLength(json: PointJson): number {
  return typeof json === 'string' ? Buffer.byteLength(json) : json.length;
}

/** Memory of a body before it grows. */
const FIRST_BYTES = 64 * 1024;

/** Bodies whose memory is used again: fresh memory for each costs more than copying into it. */
export class RequestBodies {
  readonly #spare: RequestBody[] = [];

  constructor(
    private readonly mostPoints: number,
    private readonly mostBytes: number,
  ) {}

  /** An empty body. */
  take(): RequestBody {
    const spare = this.#spare.pop();
    return spare ?? new RequestBody(Buffer.allocUnsafeSlow(FIRST_BYTES), this.mostPoints, this.mostBytes);
  }

  /** Takes a body back of which nobody reads any more. */
  giveBack(body: RequestBody): void {
    body.clear();
    this.#spare.push(body);
  }
}
