import type { Digest } from '../../operations/copying';

/** An object of a listing. */
export interface StoredObject {
  readonly key: string;
  readonly bytes: number;
  /** When it was written, by the clock of the store: milliseconds since 1970. */
  readonly modifiedMs: number;
}

/** Where objects are kept, each written once. Methods reject with a `CheckpointStoreError`. */
export interface Objects {
  /** An object in messages. */
  nameOf(key: string): string;
  /** Writes a file durably, unless the key is taken, which it tells: the object has what was expected in both cases. */
  create(key: string, path: string, expected: Digest): Promise<boolean>;
  /** Writes a small text durably, unless the key is taken: false then. */
  createText(key: string, text: string): Promise<boolean>;
  text(key: string): Promise<string>;
  /** Writes an object to a new file, durably; fails where it has more bytes. */
  fetch(key: string, path: string, mostBytes: number): Promise<Digest>;
  digestOf(key: string): Promise<Digest>;
  /** The objects whose keys begin so, up to a slash. */
  list(prefix: string): Promise<readonly StoredObject[]>;
  /** Removes an object, which may be missing. */
  remove(key: string): Promise<void>;
  close(): void;
}
