/** A page of points as bytes: each point, and the offset of the next page. */
export interface PageBytes {
  readonly points: readonly Buffer[];
  /** As JSON; undefined after the last page. */
  readonly nextOffset: string | undefined;
}

const POINTS = Buffer.from('"points":[');
const NEXT_OFFSET = Buffer.from('],"next_page_offset":');
const VECTOR = Buffer.from('"vector"');
const LINE_BREAK = 0x0a;
const SPACE = 0x20;
const MINUS = 0x2d;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BEGIN = 0x5b;
const BACKSLASH = 0x5c;
const END = 0x5d;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * Takes the envelope of a scroll apart without parsing its points, so that numbers stay as the server wrote them.
 * @throws Error when it is none
 */
export function splitPage(envelope: Uint8Array): PageBytes {
  const bytes = Buffer.from(envelope.buffer, envelope.byteOffset, envelope.length);
  const points: Buffer[] = [];
  let at = startOfPoints(bytes);
  while (at < bytes.length && bytes[at] !== END) {
    if (bytes[at] === OPEN) {
      const end = endOfObject(bytes, at);
      points.push(bytes.subarray(at, end));
      at = end;
    } else {
      at += 1;
    }
  }
  return { points, nextOffset: nextPageOf(bytes).offset };
}

function startOfPoints(bytes: Buffer): number {
  const start = bytes.indexOf(POINTS);
  if (start < 0) {
    throw new Error('The answer is no page of points');
  }
  return start + POINTS.length;
}

/** Where the page behind an envelope of a scroll begins. */
export interface NextPage {
  /** As JSON; undefined after the last page. */
  readonly offset: string | undefined;
  /** The text of the cursor (C22), where the answer has one. */
  readonly cursor: string | undefined;
}

/** Bytes behind the points of a page, at most: an id of 256 bytes, each of them escaped, a cursor with that id, and the time. */
const LONGEST_END = 4096;

/**
 * The next page, of an envelope of a scroll: it stands behind all points.
 * @throws Error when it is none
 */
export function nextPageOf(envelope: Uint8Array): NextPage {
  const bytes = Buffer.from(envelope.buffer, envelope.byteOffset, envelope.length);
  const at = bytes.lastIndexOf(NEXT_OFFSET);
  const from = at + NEXT_OFFSET.length;
  const text = at < 0 ? '' : bytes.toString('utf8', from, from + LONGEST_END);
  const [, offset, cursor] =
    /^("(?:[^"\\]|\\.)*"|\d+|null)(?:\},"next_cursor":"([^"\\]*)")?/.exec(text) ?? [];
  if (offset === undefined) {
    throw new Error('The answer is no page of points');
  }
  return { offset: offset === 'null' ? undefined : offset, cursor };
}

/** The points of a page, one a line. */
export interface PageLines {
  readonly lines: Buffer;
  readonly points: number;
}

/**
 * Makes lines of the points of an envelope of a scroll, in its own memory: the comma behind each point becomes a line break.
 * @throws Error when it is none
 */
export function linesOfPage(envelope: Uint8Array): PageLines {
  const bytes = Buffer.from(envelope.buffer, envelope.byteOffset, envelope.length);
  const start = startOfPoints(bytes);
  let points = 0;
  let at = start;
  while (bytes[at] === OPEN) {
    at = endOfObject(bytes, at);
    points += 1;
    if (bytes[at] !== COMMA) break;
    bytes[at] = LINE_BREAK;
    at += 1;
  }
  if (bytes[at] !== END) {
    throw new Error('The answer is no page of points');
  }
  if (points > 0) {
    bytes[at] = LINE_BREAK;
    at += 1;
  }
  return { lines: bytes.subarray(start, at), points };
}

/** The fields of an object as their bytes, by their names as JSON writes them. */
export function fieldsOf(object: Buffer): ReadonlyMap<string, Buffer> {
  const fields = new Map<string, Buffer>();
  for (let at = object.indexOf(QUOTE); at >= 0 && at < object.length;) {
    const nameEnd = endOfString(object, at + 1);
    const name = object.toString('utf8', at + 1, nameEnd);
    const from = object.indexOf(COLON, nameEnd) + 1;
    const to = endOfValue(object, from);
    fields.set(name, object.subarray(from, to));
    at = object.indexOf(QUOTE, to);
  }
  return fields;
}

/** The elements of a list as their bytes. */
export function elementsOf(list: Buffer): readonly Buffer[] {
  const elements: Buffer[] = [];
  for (let at = list.indexOf(BEGIN) + 1; at > 0 && at < list.length; at += 1) {
    const end = endOfValue(list, at);
    const element = list.subarray(at, end);
    if (element.some((byte) => byte > SPACE)) elements.push(element);
    if (list[end] === END) break;
    at = end;
  }
  return elements;
}

/** The place behind the value that begins at `from`: that of the comma or the bracket that follows it, or of the end. */
export function endOfValue(bytes: Buffer, from: number): number {
  let depth = 0;
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfString(bytes, at + 1);
    } else if (byte === BEGIN) {
      const end = endOfNumbers(bytes, at);
      if (end === undefined) depth += 1;
      else at = end;
    } else if (byte === OPEN) {
      depth += 1;
    } else if (byte === CLOSE || byte === END) {
      if (depth === 0) return at;
      depth -= 1;
    } else if (byte === COMMA && depth === 0) {
      return at;
    }
  }
  return bytes.length;
}

/**
 * The place of the bracket that ends the list at `from`; undefined where strings or lists are in it. Most of a point are lists
 * of numbers, which are not read byte by byte.
 */
function endOfNumbers(bytes: Buffer, from: number): number | undefined {
  const first = bytes[from + 1];
  // Without this each of many lists in one another would be searched for its end.
  if (first === BEGIN || first === OPEN || first === QUOTE) return undefined;
  const end = bytes.indexOf(END, from);
  if (end < 0) return undefined;
  const inside = bytes.subarray(from + 1, end);
  return inside.includes(QUOTE) || inside.includes(BEGIN) ? undefined : end;
}

/** The place behind the object that begins at `from`. */
function endOfObject(bytes: Buffer, from: number): number {
  let depth = 0;
  /** Whether the last key of the object itself is that of its vectors. */
  let isVector = false;
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      const end = endOfString(bytes, at + 1);
      if (depth === 1) isVector = end - at === VECTOR.length - 1 && VECTOR.compare(bytes, at, end + 1) === 0;
      at = end;
    } else if (byte === BEGIN) {
      // A list of numbers in a vector is most of a point, and has no brackets.
      if (isVector && isNumber(bytes[at + 1])) at = bytes.indexOf(END, at);
    } else if (byte === OPEN) {
      depth += 1;
    } else if (byte === CLOSE) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return bytes.length;
}

function isNumber(byte: number | undefined): boolean {
  return byte !== undefined && (byte === MINUS || (byte >= 0x30 && byte <= 0x39));
}

/** The place of the quote that ends a string. */
function endOfString(bytes: Buffer, from: number): number {
  for (let quote = bytes.indexOf(QUOTE, from); quote >= 0; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let escapes = 0;
    while (bytes[quote - 1 - escapes] === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return quote;
  }
  return bytes.length;
}
