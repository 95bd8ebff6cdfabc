/** What a Linux addon needs of the system that loads it, read from its dynamic section. */
import { readFileSync } from 'node:fs';

/** Entries of the program header table and of the dynamic section, and machines, by their numbers in the ELF standard. */
const PT = { LOAD: 1, DYNAMIC: 2 };
const DT = { NULL: 0, NEEDED: 1, STRTAB: 5, VERNEED: 0x6fff_fffe, VERNEEDNUM: 0x6fff_ffff };
const MACHINES = { 62: 'x64', 183: 'arm64' };

const HEADER_BYTES = 64;
/** More than any library has: a damaged file must not be followed for ever. */
const MAX_ENTRIES = 10_000;

/**
 * @typedef {object} Needs
 * @property {string} machine as Node names it: x64, arm64
 * @property {string[]} libraries names of the shared libraries
 * @property {string[]} versions of symbols, as GLIBC_2.17
 * @property {number} alignment of the segments in bytes: the largest page with which the file can be mapped
 */

/**
 * @param {string} path of a 64-bit little-endian ELF file
 * @returns {Needs}
 */
export function needsOf(path) {
  return new Elf(readFileSync(path), path).needs();
}

/** The newest glibc whose symbols are needed, as [2, 17]; undefined where there are none of glibc. */
export function glibcOf({ versions }) {
  return versions
    .map((version) => /^GLIBC_(\d+)\.(\d+)/.exec(version)?.slice(1, 3).map(Number))
    .filter((version) => version !== undefined)
    .sort(([a, b], [c, d]) => a - c || b - d)
    .at(-1);
}

class Elf {
  #bytes;
  #path;
  #segments;

  constructor(bytes, path) {
    this.#bytes = bytes;
    this.#path = path;
    if (
      bytes.length < HEADER_BYTES ||
      bytes.readUInt32BE(0) !== 0x7f45_4c46 ||
      bytes.readUInt16BE(4) !== 0x0201
    )
      throw new Error(`${path} is no 64-bit little-endian ELF file.`);
    this.#segments = this.#readSegments();
  }

  needs() {
    const dynamic = this.#dynamicEntries();
    const strings = this.#offsetOf(this.#one(dynamic, DT.STRTAB));
    return {
      machine: MACHINES[this.#bytes.readUInt16LE(18)] ?? 'another',
      libraries: dynamic.filter(([tag]) => tag === DT.NEEDED).map(([, at]) => this.#text(strings + at)),
      versions: this.#versions(dynamic, strings),
      alignment: Math.min(...this.#segments.filter(({ type }) => type === PT.LOAD).map(({ align }) => align)),
    };
  }

  #readSegments() {
    const [start, size, count] = [this.#word(32), this.#bytes.readUInt16LE(54), this.#bytes.readUInt16LE(56)];
    return Array.from({ length: count }, (_, index) => {
      const at = start + index * size;
      return {
        type: this.#bytes.readUInt32LE(at),
        offset: this.#word(at + 8),
        address: this.#word(at + 16),
        length: this.#word(at + 32),
        align: this.#word(at + 48),
      };
    });
  }

  /** Pairs of a tag and its value. */
  #dynamicEntries() {
    const segment = this.#segments.find(({ type }) => type === PT.DYNAMIC);
    if (segment === undefined) throw new Error(`${this.#path} is no shared library.`);
    const entries = [];
    for (let at = segment.offset; at < segment.offset + segment.length; at += 16) {
      const tag = this.#word(at);
      if (tag === DT.NULL) break;
      entries.push([tag, this.#word(at + 8)]);
    }
    return entries;
  }

  /** The versions that are needed of the symbols of each library. */
  #versions(dynamic, strings) {
    if (!dynamic.some(([tag]) => tag === DT.VERNEED)) return [];
    const versions = [];
    let library = this.#offsetOf(this.#one(dynamic, DT.VERNEED));
    for (let left = Math.min(this.#one(dynamic, DT.VERNEEDNUM), MAX_ENTRIES); left > 0; left -= 1) {
      let at = library + this.#bytes.readUInt32LE(library + 8);
      for (let names = this.#bytes.readUInt16LE(library + 2); names > 0; names -= 1) {
        versions.push(this.#text(strings + this.#bytes.readUInt32LE(at + 8)));
        at += this.#bytes.readUInt32LE(at + 12);
      }
      library += this.#bytes.readUInt32LE(library + 12);
    }
    return versions;
  }

  #one(dynamic, wanted) {
    const found = dynamic.find(([tag]) => tag === wanted);
    if (found === undefined) throw new Error(`${this.#path} has no dynamic entry ${wanted}.`);
    return found[1];
  }

  /** Where in the file the byte of an address is. */
  #offsetOf(address) {
    const segment = this.#segments.find(
      ({ type, address: start, length }) => type === PT.LOAD && start <= address && address < start + length,
    );
    if (segment === undefined) throw new Error(`${this.#path} has no segment with the address ${address}.`);
    return address - segment.address + segment.offset;
  }

  #word(at) {
    return Number(this.#bytes.readBigUInt64LE(at));
  }

  #text(at) {
    return this.#bytes.toString('latin1', at, this.#bytes.indexOf(0, at));
  }
}
