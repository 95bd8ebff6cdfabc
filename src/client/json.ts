import { randomUUID } from 'node:crypto';

/**
 * JSON as the client writes and reads it: `Float32Array`s are lists of numbers, and integers beyond 2^53 are BigInts in
 * both directions. JSON.rawJSON and the source text in JSON.parse would do it, but Node 20 lacks them.
 */

/** Deeper values are refused: the server takes far less, and a cycle ends here. */
const MAX_DEPTH = 512;

/** Writes what stands for a vector in place of its numbers. */
export type WriteVector = (vector: Float32Array) => string;

/** Below these keys there are no vectors. */
const WITHOUT_VECTORS: ReadonlySet<string> = new Set(['payload', 'payloads', 'filter']);

/** A value as its text in JSON, which `encodeJson` writes as it is: a number keeps its form, such as `1.0`. */
export class JsonText {
  constructor(readonly text: string) {}
}

/** A value that JSON has no place for, and where it stands. */
class NotJson extends TypeError {
  readonly #problem: string;
  readonly #place: string;

  constructor(problem: string, place = '') {
    super(place === '' ? problem : `${problem}: ${place}`);
    this.#problem = problem;
    this.#place = place;
  }

  /** The same, seen from the object or list around it. */
  within(part: string): NotJson {
    const isLast = this.#place === '' || this.#place.startsWith('[');
    return new NotJson(this.#problem, `${part}${isLast ? '' : '.'}${this.#place}`);
  }
}

/**
 * Writes a value as JSON. Undefined fields are left out; a value with `toJSON` is replaced by what that returns.
 * With `vector` each `Float32Array` outside payloads and filters is what that gives.
 *
 * A number that is not finite is refused: as null it would be an absent bound of a range or an absent threshold. In a list
 * of numbers it is null: the server refuses that in a vector and in a filter, and names its place.
 * @throws TypeError for a function, a symbol, an invalid Date, a number that is not finite, and what is nested deeper than
 * 512 or in itself.
 */
export function encodeJson(value: unknown, vector?: WriteVector): string {
  return encode(value, 0, vector) ?? 'null';
}

/** The body of a call as it is sent: a `Uint8Array` is JSON text already. */
export function encodeBody(body: unknown): Uint8Array {
  return body instanceof Uint8Array ? body : Buffer.from(encodeJson(body));
}

/** Undefined where JSON has no place for the value. */
function encode(value: unknown, depth: number, vector: WriteVector | undefined): string | undefined {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'number':
      if (!Number.isFinite(value)) throw new NotJson(`${value} cannot be sent`);
      return String(value);
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'undefined':
      return undefined;
    case 'object':
      return value === null ? 'null' : encodeObject(value, depth, vector);
    case 'function':
    case 'symbol':
      throw new NotJson(`A ${typeof value} cannot be sent`);
  }
}

function encodeObject(value: object, depth: number, vector: WriteVector | undefined): string | undefined {
  if (depth > MAX_DEPTH) {
    throw new TypeError(`A value that is nested deeper than ${MAX_DEPTH} cannot be sent`);
  }
  if (Array.isArray(value)) {
    return encodeArray(value, depth, vector);
  }
  if (value instanceof JsonText) {
    return value.text;
  }
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    if (vector !== undefined && value instanceof Float32Array) return vector(value);
    return encodeArray(Array.from(value as unknown as ArrayLike<unknown>), depth, vector);
  }
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    // Its `toJSON` gives null, which would be an absent bound of a range.
    if (value instanceof Date && Number.isNaN(value.getTime())) {
      throw new NotJson('An invalid Date cannot be sent');
    }
    return encode((value.toJSON as (key: string) => unknown)(''), depth + 1, vector);
  }
  return encodeFields(value, depth, vector);
}

function encodeFields(value: object, depth: number, vector: WriteVector | undefined): string {
  const fields: string[] = [];
  for (const [name, field] of Object.entries(value)) {
    const text = encodeIn(name, field, depth, WITHOUT_VECTORS.has(name) ? undefined : vector);
    if (text !== undefined) {
      fields.push(`${JSON.stringify(name)}:${text}`);
    }
  }
  return `{${fields.join(',')}}`;
}

function encodeArray(items: readonly unknown[], depth: number, vector: WriteVector | undefined): string {
  // Vectors are most of what is sent, and JSON.stringify is several times as fast for numbers alone.
  if (items.every((item) => typeof item === 'number')) {
    return JSON.stringify(items);
  }
  return `[${items.map((item, at) => encodeIn(at, item, depth, vector) ?? 'null').join(',')}]`;
}

/** Writes what an object has under a name, or a list at a place. */
function encodeIn(
  key: string | number,
  value: unknown,
  depth: number,
  vector: WriteVector | undefined,
): string | undefined {
  try {
    return encode(value, depth + 1, vector);
  } catch (error) {
    throw error instanceof NotJson ? error.within(typeof key === 'number' ? `[${key}]` : key) : error;
  }
}

/** Found in every text with an integer that a number cannot hold. Most answers do not have it and need no further step. */
const LONG_DIGITS = /\d{16}/;
/** The start of a string, or an integer of 16 digits or more that is no part of another number, such as its exponent. */
const QUOTE_OR_LONG_INTEGER = /"|(?<![\d.eE]|[eE][+-])-?\d{16,}(?![\d.eE])/g;

/**
 * Reads JSON. Integers beyond 2^53 become BigInts, all others numbers.
 * @throws SyntaxError when it is not JSON.
 */
export function parseJson(text: string): unknown {
  if (!LONG_DIGITS.test(text)) {
    return JSON.parse(text);
  }
  // The mark is random, so no string of the answer begins with it.
  const mark = randomUUID();
  const marked = markLongIntegers(text, mark);
  if (marked === text) {
    return JSON.parse(text);
  }
  return JSON.parse(marked, (_name, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
}

/** Makes strings that begin with `mark` of the integers that a number cannot hold. */
function markLongIntegers(text: string, mark: string): string {
  let marked = '';
  let copied = 0;
  QUOTE_OR_LONG_INTEGER.lastIndex = 0;
  for (
    let found = QUOTE_OR_LONG_INTEGER.exec(text);
    found !== null;
    found = QUOTE_OR_LONG_INTEGER.exec(text)
  ) {
    const [token] = found;
    if (token === '"') {
      // Strings are skipped by hand: a pattern for a whole one needs a stack as long as the string.
      QUOTE_OR_LONG_INTEGER.lastIndex = endOfString(text, found.index + 1);
    } else if (!Number.isSafeInteger(Number(token))) {
      marked += `${text.slice(copied, found.index)}"${mark}${token}"`;
      copied = found.index + token.length;
    }
  }
  return marked + text.slice(copied);
}

/** The place after the quote that ends a string; the end of the text where there is none. */
function endOfString(text: string, from: number): number {
  let quote = text.indexOf('"', from);
  while (quote !== -1) {
    let escapes = 0;
    while (text[quote - 1 - escapes] === '\\') {
      escapes += 1;
    }
    if (escapes % 2 === 0) {
      return quote + 1;
    }
    quote = text.indexOf('"', quote + 1);
  }
  return text.length;
}
