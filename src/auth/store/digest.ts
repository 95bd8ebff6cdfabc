import { createHash } from 'node:crypto';
import type { StoredAdmin, StoredToken } from './port';
import { LIMITS_SCHEMA_VERSION, SCHEMA_VERSION } from './schema';

const FORMAT = 1;
/** Parts that the access tokens are spread over by their ids: what is lost with one part stays small. */
const TOKEN_PARTS = 256;
/** A part is the sum of its rows' digests modulo 2^128: a change costs the same however many rows there are. */
const SUM_BITS = 128;
const SUM = /^[0-9a-f]{32}$/;
/** What a setting of each name counts in. */
const SETTINGS = 'settings';
const ADMIN = 'admin';
/** A setting that is a part of its own, so that a repair can keep it where another setting is damaged. */
const INITIAL_TOKEN = 'initial_token';

/** A row of the store, as the digest counts it. */
export interface CountedRow {
  /** The part of the digest that it belongs to. */
  readonly part: string;
  /** SHA-256 of its content: 32 bytes, which stand in the row too. */
  readonly digest: Buffer;
}

/** How a change alters the rows. */
export interface RowChanges {
  readonly removed?: readonly CountedRow[];
  readonly added?: readonly CountedRow[];
  /** The highest id that a token ever had, where it grows. */
  readonly lastTokenId?: number;
  /** The version of the schema, where it is raised. */
  readonly schema?: number;
}

/** The row of a setting. */
export function settingRow(name: string, value: string): CountedRow {
  return counted(name === INITIAL_TOKEN ? INITIAL_TOKEN : SETTINGS, ['setting', name, value]);
}

/** The row of the admin. */
export function adminRow({ passwordHash, generation }: StoredAdmin): CountedRow {
  return counted(ADMIN, ['admin', passwordHash, generation]);
}

/** The row of an access token, with the SHA-256 of its raw value. */
export function tokenRow(token: StoredToken, raw: Buffer): CountedRow {
  const { id, name, description, permission, createdAt, expiresAt, limits } = token;
  const fields = ['token', id, name, description, raw.toString('hex'), permission, createdAt, expiresAt];
  // Without limits it is what it was before there were any.
  if (limits !== undefined) fields.push(limits);
  return counted(`tokens/${id % TOKEN_PARTS}`, fields);
}

function counted(part: string, fields: readonly unknown[]): CountedRow {
  return { part, digest: createHash('sha256').update(JSON.stringify(fields)).digest() };
}

/** A digest that a later release wrote: nothing is known of it. */
export class LaterDigest extends Error {
  override readonly name = 'LaterDigest';
}

/** Adds rows up. */
class RowSums {
  constructor(private readonly sums = new Map<string, bigint>()) {}

  add({ part, digest }: CountedRow, sign: 1n | -1n = 1n): void {
    const value = sign * BigInt(`0x${digest.toString('hex')}`);
    const sum = BigInt.asUintN(SUM_BITS, (this.sums.get(part) ?? 0n) + value);
    if (sum === 0n) {
      this.sums.delete(part);
    } else {
      this.sums.set(part, sum);
    }
  }

  done(): ReadonlyMap<string, bigint> {
    return this.sums;
  }
}

/** Makes the digest of rows that are read one after the other. */
export class DigestBuilder {
  readonly #sums = new RowSums();

  add(row: CountedRow): void {
    this.#sums.add(row);
  }

  build(generation: number, lastTokenId: number, schema: number = SCHEMA_VERSION): StoreDigest {
    return StoreDigest.of(generation, lastTokenId, this.#sums.done(), schema);
  }
}

/**
 * The digest of all rows of a store that count, with the generation of the store: a number that grows with every
 * change. The store keeps it, and so does a file beside it, so that a damaged, an older or a missing store is noticed.
 * The sums guard against damage and against mistakes, not against somebody who may write in the folder.
 */
export class StoreDigest {
  private constructor(
    readonly generation: number,
    /** The highest id that a token ever had; 0 before the first. */
    readonly lastTokenId: number,
    private readonly sums: ReadonlyMap<string, bigint>,
    /** The version of the schema of the store. */
    readonly schema: number,
  ) {}

  /** The digest of rows that were added up. */
  static of(
    generation: number,
    lastTokenId: number,
    sums: ReadonlyMap<string, bigint>,
    schema: number = SCHEMA_VERSION,
  ): StoreDigest {
    return new StoreDigest(generation, lastTokenId, sums, schema);
  }

  /** The digest of no rows. */
  static empty(generation: number): StoreDigest {
    return new StoreDigest(generation, 0, new Map(), SCHEMA_VERSION);
  }

  /** Whether no row counts: nothing was ever stored, since a store has a setting from its first transaction on. */
  get isEmpty(): boolean {
    return this.sums.size === 0;
  }

  /** The digest after a change. */
  next({
    removed = [],
    added = [],
    lastTokenId = this.lastTokenId,
    schema = this.schema,
  }: RowChanges): StoreDigest {
    const sums = new RowSums(new Map(this.sums));
    for (const row of removed) sums.add(row, -1n);
    for (const row of added) sums.add(row);
    return new StoreDigest(this.generation + 1, lastTokenId, sums.done(), schema);
  }

  /** Whether both have the same rows in a part. */
  agreesIn(part: string, other: StoreDigest): boolean {
    return this.sums.get(part) === other.sums.get(part);
  }

  /** What differs in rows, in words; nothing where the rows are the same. */
  differences(other: StoreDigest): readonly string[] {
    const parts = new Set([...this.sums.keys(), ...other.sums.keys()]);
    const differing = [...parts].filter((part) => !this.agreesIn(part, other));
    const kinds = differing.map((part) =>
      part.startsWith('tokens/') ? 'the access tokens' : `the ${part.replace('_', ' ')}`,
    );
    return [...new Set(kinds)];
  }

  /** Two lines: the digest as JSON, and the SHA-256 of that line. */
  get text(): string {
    const hex = (sum: bigint): string => sum.toString(16).padStart(32, '0');
    const parts = [...this.sums]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([part, sum]): readonly [string, string] => [part, hex(sum)]);
    const line = JSON.stringify({
      kithdb_auth: FORMAT,
      schema: this.schema,
      generation: this.generation,
      last_token_id: this.lastTokenId,
      parts: Object.fromEntries(parts),
    });
    return `${line}\n${checksum(line)}\n`;
  }

  /**
   * Reads what {@link text} wrote; undefined when it is damaged.
   * @throws LaterDigest
   */
  static parse(text: string): StoreDigest | undefined {
    const [line = '', sum, ...rest] = text.split('\n');
    if (sum !== checksum(line) || rest.join() !== '') {
      return undefined;
    }
    const found = JSON.parse(line) as {
      readonly kithdb_auth: number;
      readonly schema: number;
      readonly generation: number;
      readonly last_token_id: number;
      readonly parts: Readonly<Record<string, string>>;
    };
    if (found.kithdb_auth > FORMAT || found.schema > LIMITS_SCHEMA_VERSION) {
      throw new LaterDigest('it was written by a later release of KithDB');
    }
    const sums = Object.entries(found.parts).filter(([, hex]) => SUM.test(hex));
    const parts = new Map(sums.map(([part, hex]) => [part, BigInt(`0x${hex}`)]));
    return new StoreDigest(found.generation, found.last_token_id, parts, found.schema);
  }
}

function checksum(line: string): string {
  return createHash('sha256').update(line).digest('hex');
}
