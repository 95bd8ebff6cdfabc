/**
 * What a collection takes of memory and disk. The constants are those of the engine's tables, and a test compares the
 * result with the measured bytes of bench/results.
 */

const LINE_BYTES = 64;
const TAG_BYTES = 16;

/** Arenas grow in chunks: what a table has is this much more than its rows. */
const CHUNK_SLACK = 1.015;
const LINK_SLACK = 1.11;

/** docs/memory.md, _What a point takes_, with integer ids. */
const OWNER_BYTES = 14.7;
const POINT_BYTES = 37.1;
/** The place of a payload in a data file. */
const PLACE_BYTES = 13;

/** An estimate: a value as a bit in a set, in an ordered tree and in a zone. Distinct strings come on top. */
const INDEXED_VALUE_BYTES = 40;

/** Node.js and its part of the server. */
export const NODE_BYTES = 128 * 2 ** 20;

/** A server makes room from this share of its limit on (docs/memory.md). */
const ROOM_FROM = 0.75;

/** Bytes of one code: whole cache lines, and a tag where the last line has no room for it. */
export function codeBytes(dimensions, bits) {
  if (bits === 0) return 0;
  const payload = Math.ceil((dimensions * bits) / 8);
  const lines = Math.ceil(payload / LINE_BYTES) * LINE_BYTES;
  return (lines - payload >= TAG_BYTES ? lines : lines + TAG_BYTES) * CHUNK_SLACK;
}

/** Bytes of a node's links: 2·m in the base layer, m in each layer above, two words beside them. */
export function linkBytes(m) {
  return (8 * m + 8 + (4 * m) / (m - 1)) * LINK_SLACK;
}

/** Bytes a point in the table of points, with the owner of its row, without its payload and the place of that. */
export const TABLE_BYTES = OWNER_BYTES + POINT_BYTES;

/**
 * @param {object} collection
 * @param {number} collection.points
 * @param {number} collection.dimensions
 * @param {number} collection.elementBytes 4 for float32, 2 for float16, 1 for uint8
 * @param {number} collection.bits of a component in a code: 4 or 8, 0 for none
 * @param {number} collection.m
 * @param {boolean} collection.originalsInMemory `on_disk: false`
 * @param {number} collection.payloadBytes of a point, as JSON
 * @param {number} collection.indexedValues of a point, in all field indexes
 * @returns {{codes: number, links: number, points: number, indexes: number, originals: number, payloads: number,
 *   held: number, mapped: number, limit: number}} bytes
 */
export function planMemory(collection) {
  const { points, dimensions, elementBytes, bits, m, originalsInMemory, payloadBytes, indexedValues } =
    collection;
  const codes = points * codeBytes(dimensions, bits);
  const links = points * linkBytes(m);
  const table = points * (TABLE_BYTES + (payloadBytes > 0 ? PLACE_BYTES : 0));
  const indexes = points * indexedValues * INDEXED_VALUE_BYTES;
  const originals = points * dimensions * elementBytes;
  const payloads = points * payloadBytes;
  const held = codes + links + table + indexes + (originalsInMemory ? originals : 0);
  return {
    codes,
    links,
    points: table,
    indexes,
    originals,
    payloads,
    held,
    mapped: payloads + (originalsInMemory ? 0 : originals),
    limit: held / ROOM_FROM + NODE_BYTES,
  };
}
