/** A server whose collections are migrated, and what they are in KithDB's terms. */

import type { Alias } from './aliases';

/** A running server of another product, or of this one. */
export interface MigrationSource {
  /** What it says it is, such as `Qdrant 1.19.1`. @throws SourceError when it is no such server */
  describe(): Promise<string>;
  /** The names of its collections, in order. */
  collectionNames(): Promise<readonly string[]>;
  /** One of them, as it is now. */
  collection(name: string): Promise<SourceCollection>;
  /** The further names that its collections have. */
  aliases(): Promise<readonly Alias[]>;
  close(): Promise<void>;
}

/** A collection of a source. */
export interface SourceCollection {
  readonly name: string;
  /** How many points it has now. */
  readonly points: number;
  /** The body with which it is created; undefined where nothing can be created, for the reason that `remarks` has. */
  readonly config: CollectionBody | undefined;
  readonly indexes: readonly PayloadIndex[];
  /** What of it is not migrated or becomes something else, one sentence each. */
  readonly remarks: readonly string[];
  /** Its points from a position on, in an order that does not change while nothing is written; from the start without one. */
  pages(from: string | undefined): AsyncIterable<SourcePage>;
  /** The points that still exist of those that stood in `pages` with these keys. */
  lookUp(keys: readonly string[]): Promise<readonly SourcePoint[]>;
  /** How many points it has. */
  count(): Promise<number>;
}

/** The body of a creation (C4.3). */
export type CollectionBody = Readonly<Record<string, unknown>>;

/** An index over one path of the payloads. */
export interface PayloadIndex {
  readonly field: string;
  readonly schema: unknown;
}

/** Points that a source gave together. */
export interface SourcePage {
  /** Where the page begins: a migration that is resumed goes on there. */
  readonly position: string;
  readonly points: readonly SourcePoint[];
}

/** A point as an upsert takes it, or why there is none. */
export interface SourcePoint {
  /** What the source finds it by; read only of points that are compared. */
  readonly key: () => string;
  /** Absent where `reason` says why. */
  readonly json?: string;
  readonly reason?: string;
}

/** Whether a value of JSON is an object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
