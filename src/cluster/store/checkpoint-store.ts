import type { Digest } from '../../operations/copying';

/** A file of a checkpoint. */
export interface CheckpointFile extends Digest {
  /** As the engine names it. */
  readonly name: string;
  /** The upload that has written it; a later checkpoint names the file of an earlier one where it is the same. */
  readonly upload: string;
}

/** What a checkpoint consists of. */
export interface CheckpointManifest {
  /** Its position and its upload: unique among the checkpoints of a shard. */
  readonly id: string;
  readonly shard: string;
  /** The sequence of the last record that is in it. */
  readonly position: number;
  /** The digest of the replica's state there, where it was known. */
  readonly digest: string | null;
  /** The node that has written it. */
  readonly node: string;
  /** RFC 3339, UTC; by the clock of that node. */
  readonly created_at: string;
  /** What the writer has added. */
  readonly facts: Readonly<Record<string, string>>;
  readonly files: readonly CheckpointFile[];
}

/** A checkpoint that is to be stored. */
export interface NewCheckpoint extends Pick<CheckpointManifest, 'shard' | 'position' | 'node'> {
  /** A folder whose files do not change, as the engine links them. */
  readonly folder: string;
  readonly digest?: string | undefined;
  readonly facts?: Readonly<Record<string, string>>;
}

/** A checkpoint of a store. */
export interface StoredCheckpoint {
  readonly manifest: CheckpointManifest;
  /** Its objects that are missing or have another length; none of one that is whole. */
  readonly missing: readonly string[];
  /** The nodes, beside the one that has written it, that have read it back. */
  readonly confirmedBy: readonly string[];
}

/** The checkpoints of a shard. */
export interface CheckpointListing {
  /** Newest first: by position. */
  readonly checkpoints: readonly StoredCheckpoint[];
  /** Why manifests cannot be read. */
  readonly unreadable: readonly CheckpointStoreError[];
}

/** What is kept. */
export interface Retention {
  /** Whole checkpoints, at least; 2 when absent. */
  readonly keep?: number;
  /** Younger ones are kept all, by the clock of the store; 24 hours when absent. */
  readonly minAgeMs?: number;
}

/** What a removal has removed. */
export interface Removed {
  /** Ids of checkpoints. */
  readonly checkpoints: readonly string[];
  readonly files: number;
}

/** Where checkpoints of shards are. Nodes use it at the same time. Methods reject with a {@link CheckpointStoreError}. */
export interface CheckpointStore {
  /** Copies a checkpoint. When it resolves, all of it is there. */
  put(checkpoint: NewCheckpoint, signal?: AbortSignal): Promise<CheckpointManifest>;
  /** The newest whole checkpoint of a shard. */
  latest(shard: string): Promise<CheckpointManifest | undefined>;
  list(shard: string): Promise<CheckpointListing>;
  /**
   * Writes the files of a checkpoint into a folder that is not there yet, durably, each compared with its length and its
   * SHA-256. Where that fails there is no folder.
   */
  fetch(manifest: CheckpointManifest, into: string, signal?: AbortSignal): Promise<void>;
  /** Reads all files of a checkpoint, and compares them. */
  verify(manifest: CheckpointManifest, signal?: AbortSignal): Promise<void>;
  /** Notes that a node, another than the one that has written it, has fetched or verified a checkpoint. */
  confirm(manifest: CheckpointManifest, node: string): Promise<void>;
  /** Removes the manifest of a checkpoint whose files are damaged, so that no later one names them. */
  discard(manifest: CheckpointManifest): Promise<void>;
  /**
   * Removes old checkpoints and files that nothing names. The newest that was confirmed is kept as well, and no file is
   * removed while there is a manifest that cannot be read.
   */
  removeOld(shard: string, retention?: Retention): Promise<Removed>;
  close(): void;
}

/**
 * What is wrong: an object is missing; it is damaged; a later release has written it; the store cannot be used now, or
 * what is to be stored is not valid.
 */
export type CheckpointStoreProblem = 'missing' | 'damaged' | 'later_format' | 'unavailable' | 'invalid';

/** An error of a store; its message names the object. */
export class CheckpointStoreError extends Error {
  override readonly name = 'CheckpointStoreError';

  constructor(
    readonly problem: CheckpointStoreProblem,
    readonly object: string,
    what: string,
    options?: ErrorOptions,
  ) {
    super(`${object}: ${what}`, options);
  }
}
