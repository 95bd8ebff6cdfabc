/** A page of points as bytes: each point, and the offset of the next page. */
export interface PageBytes {
  readonly points: readonly Buffer[];
  /** As JSON; undefined after the last page. */
  readonly nextOffset: string | undefined;
}

const POINTS = Buffer.from('"points":[');
const [QUOTE, BACKSLASH, OPEN, CLOSE, END] = [...Buffer.from('"\\{}]')] as [
  number,
  number,
  number,
  number,
  number,
];

/**
 * Takes the envelope of a scroll apart without parsing its points, so that numbers stay as the server wrote them.
 * @throws Error when it is none
 */
export function splitPage(envelope: Uint8Array): PageBytes {
  const bytes = Buffer.from(envelope.buffer, envelope.byteOffset, envelope.length);
  const start = bytes.indexOf(POINTS);
  if (start < 0) {
    throw new Error('The answer is no page of points');
  }
  const points: Buffer[] = [];
  let at = start + POINTS.length;
  while (at < bytes.length && bytes[at] !== END) {
    if (bytes[at] === OPEN) {
      const end = endOfObject(bytes, at);
      points.push(bytes.subarray(at, end));
      at = end;
    } else {
      at += 1;
    }
  }
  const nextOffset = /^\],"next_page_offset":("[^"]*"|\d+|null)/.exec(
    bytes.toString('latin1', at, at + 80),
  )?.[1];
  if (nextOffset === undefined) {
    throw new Error('The answer is no page of points');
  }
  return { points, nextOffset: nextOffset === 'null' ? undefined : nextOffset };
}

/** The place behind the object that begins at `from`. */
function endOfObject(bytes: Buffer, from: number): number {
  let depth = 0;
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfString(bytes, at + 1);
    } else if (byte === OPEN) {
      depth += 1;
    } else if (byte === CLOSE) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return bytes.length;
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
