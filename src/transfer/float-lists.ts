const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const BEGIN = 0x5b;
const END = 0x5d;

/** Powers of ten, each exact: the quotient of a whole number by one of them is the nearest number to the decimal. */
const POWERS = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
/** A whole number up to this has room for one more digit in 31 bits, which is faster than the multiplication of floats. */
const MAX_WHOLE = 214_748_363;
const FIRST_FLOATS = 1 << 16;
/** The length of a list that is not there. */
export const ABSENT = -1;

/** Lists of 32-bit floats, one after the other in one piece of memory. */
export class FloatLists {
  #floats = new Float32Array(FIRST_FLOATS);
  #length = 0;
  #lengths: number[] = [];

  /** The components of all lists. */
  get floats(): Float32Array {
    return this.#floats.subarray(0, this.#length);
  }

  /** The length of each list; {@link ABSENT} for one that is not there. */
  get lengths(): readonly number[] {
    return this.#lengths;
  }

  addAbsent(): void {
    this.#lengths.push(ABSENT);
  }

  /** Adds a list from its JSON, which has no space. The numbers are those that `JSON.parse` reads. */
  add(json: Buffer): void {
    const before = this.#length;
    // Each number but the last has a comma behind it.
    this.#ensure(before + (json.length >> 1) + 1);
    const floats = this.#floats;
    let length = before;
    if (json[0] !== BEGIN) throw new Error('A vector is no list');
    for (let at = 1; at < json.length && json[at] !== END; at += 1) {
      const from = at;
      const isNegative = json[at] === MINUS;
      if (isNegative) at += 1;
      const first = at;
      let whole = 0;
      let digit = digitAt(json, at);
      for (; digit < 10 && whole <= MAX_WHOLE; digit = digitAt(json, (at += 1))) {
        whole = (Math.imul(whole, 10) + digit) | 0;
      }
      let fraction = 0;
      if (json[at] === DOT && at > first) {
        const point = (at += 1);
        digit = digitAt(json, at);
        for (; digit < 10 && whole <= MAX_WHOLE; digit = digitAt(json, (at += 1))) {
          whole = (Math.imul(whole, 10) + digit) | 0;
        }
        fraction = at - point;
      }
      const byte = json[at];
      let value: number;
      if ((byte === COMMA || byte === END) && at > first && fraction < POWERS.length) {
        value = fraction === 0 ? whole : whole / (POWERS[fraction] ?? 1);
        if (isNegative) value = -value;
      } else {
        // More digits than fit, or an exponent.
        at = endOfNumber(json, at);
        value = numberOf(json.toString('latin1', from, at));
      }
      floats[length] = value;
      length += 1;
      if (json[at] === END) break;
    }
    this.#length = length;
    this.#lengths.push(length - before);
  }

  /** Forgets all lists, and keeps the memory. */
  clear(): void {
    this.#length = 0;
    this.#lengths = [];
  }

  #ensure(floats: number): void {
    if (floats <= this.#floats.length) return;
    const larger = new Float32Array(Math.max(floats, this.#floats.length * 2));
    larger.set(this.floats);
    this.#floats = larger;
  }
}

/** The digit at a place; 10 or more where there is none. */
function digitAt(json: Buffer, at: number): number {
  return ((json[at] ?? END) - ZERO) >>> 0;
}

function numberOf(text: string): number {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'number') throw new Error('A component of a vector is no number');
  return value;
}

function endOfNumber(json: Buffer, from: number): number {
  let at = from;
  while (at < json.length && json[at] !== COMMA && json[at] !== END) at += 1;
  return at;
}
