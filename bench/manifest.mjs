/** What the `MANIFEST` of a collection names, as docs/formats.md describes it: for counting bytes by kind. */

const HEADER_BYTES = 16;
/** The bit of a graph that does without the codes that it might have. */
const LACKING = 0x80;

/**
 * The bytes of the extents that a manifest names, by what they hold.
 *
 * @param {Buffer} bytes of the file
 * @returns {{points: number, payloads: number, rows: number, links: number, codes: number, files: number[]}}
 */
export function extentBytes(bytes) {
  const input = new Input(bytes, HEADER_BYTES);
  const found = { points: 0, payloads: 0, rows: 0, links: 0, codes: 0 };
  const files = new Set();
  const add = (kind) => {
    const { file, length } = input.extent();
    found[kind] += length;
    // A chunk of rows that was dropped has the number 0.
    if (file > 0) files.add(file);
  };
  // Operation, its LSN, and the number of the next file.
  input.skip(8 + 8 + 4);
  // The configuration.
  input.skip(input.u32());
  // Field indexes: path and schema.
  input.times(() => {
    input.skip(input.u32());
    input.skip(input.u32());
  });
  // The number of points.
  input.skip(4);
  input.times(() => add('points'));
  input.times(() => add('payloads'));
  input.times(() => {
    // The number of rows.
    input.skip(4);
    input.times(() => add('rows'));
    if (input.u8() === 0) return;
    // m, ef_construct, rows that are indexed, nodes in order.
    input.skip(16);
    add('links');
    const bits = input.u8();
    if (bits === 0) return;
    // Origin and quantile of the codes.
    input.skip(1 + 4);
    if ((bits & LACKING) !== 0) return;
    add('codes');
    input.times(() => add('codes'));
  });
  return { ...found, files: [...files] };
}

class Input {
  #bytes;
  #at;

  constructor(bytes, at) {
    this.#bytes = bytes;
    this.#at = at;
  }

  skip(count) {
    this.#at += count;
  }

  u8() {
    this.#at += 1;
    return this.#bytes.readUInt8(this.#at - 1);
  }

  u32() {
    this.#at += 4;
    return this.#bytes.readUInt32LE(this.#at - 4);
  }

  /** Does something for each item of a list. */
  times(read) {
    for (let left = this.u32(); left > 0; left -= 1) read();
  }

  extent() {
    const file = this.u32();
    // The checksum, then the offset.
    this.skip(4 + 8);
    const length = Number(this.#bytes.readBigUInt64LE(this.#at));
    // The length that was read.
    this.skip(8);
    return { file, length };
  }
}
