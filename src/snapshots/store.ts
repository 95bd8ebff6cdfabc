import { createHash, randomBytes } from 'node:crypto';
import { readFile, rename, rm, stat, statfs, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, syncFolder } from '../files/folder';
import type { ArchiveDigest } from './archive';
import { malformed, noRoom, notFound } from './failure';
import type { SnapshotLimits } from './limits';
import { namesIn, WorkFolders, type WorkFolder } from './work-folders';

/** Folder of the snapshots in a data directory. */
export const SNAPSHOTS = 'snapshots';
/** Folder in it with the snapshots of all collections. */
const OF_ALL = 'all';
/** Folder in it with a folder for each collection, named by a digest: names of collections never become paths. */
const OF_COLLECTIONS = 'collections';

const SUFFIX = '.snapshot';
/** The name of a snapshot, which is that of its file. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}\.snapshot$/;
/** Characters of a collection's name in the names of its snapshots. */
const SHOWN_CHARACTERS = 100;
/** Bytes that a snapshot leaves free on the disk. */
const KEPT_FREE_BYTES = 256 * 1024 * 1024;

/** A snapshot as clients see it. */
export interface SnapshotDescription {
  readonly name: string;
  /** Without a zone, in UTC, as Qdrant has it. */
  readonly creation_time: string;
  readonly size: number;
  /** SHA-256 of the file, hexadecimal. */
  readonly checksum: string | null;
}

/** Whose snapshots they are: a collection's by its name, or those of all. */
export type Owner = { readonly collection: string } | 'all';

/**
 * The snapshots in a data directory: a file each, whose name is that of the snapshot, and beside it one with its SHA-256,
 * which is durable first.
 */
export class SnapshotStore {
  readonly #root: string;
  readonly #work: WorkFolders;

  constructor(
    private readonly dataDir: string,
    readonly limits: SnapshotLimits,
  ) {
    this.#root = join(dataDir, SNAPSHOTS);
    this.#work = new WorkFolders(dataDir, this.#root, () => this.roomBytes());
  }

  /**
   * Removes what processes that ended have left, and nothing that any is at work on. Only the owner of the data directory
   * (C18) may call it: the locks of others are known where its own is.
   */
  removeUnfinished(): Promise<void> {
    return this.#work.removeUnfinished();
  }

  /** The snapshots of an owner, by name. */
  async list(owner: Owner): Promise<SnapshotDescription[]> {
    const folder = this.#folder(owner);
    const names = (await namesIn(folder)).filter((name) => NAME.test(name)).sort();
    const found = await Promise.all(names.map((name) => describe(folder, name)));
    return found.filter((one) => one !== undefined);
  }

  /** Whether an owner has any. */
  async hasAny(owner: Owner): Promise<boolean> {
    return (await this.list(owner)).length > 0;
  }

  /** A snapshot and its path. @throws SnapshotRefusal when there is none of that name. */
  async find(owner: Owner, name: string): Promise<SnapshotDescription & { readonly path: string }> {
    const folder = this.#folder(owner);
    const found = NAME.test(name) ? await describe(folder, name) : undefined;
    if (found === undefined) throw notFound(name);
    return { ...found, path: join(folder, name) };
  }

  /** Finds a snapshot of a collection, or else of any other collection that has one of that name. */
  async findOfAny(
    collection: string,
    name: string,
  ): Promise<SnapshotDescription & { readonly path: string }> {
    const own = this.#folder({ collection });
    const others = await namesIn(join(this.#root, OF_COLLECTIONS));
    for (const folder of [own, ...others.map((other) => join(this.#root, OF_COLLECTIONS, other))]) {
      const found = NAME.test(name) ? await describe(folder, name) : undefined;
      if (found !== undefined) return { ...found, path: join(folder, name) };
    }
    throw notFound(name);
  }

  /** Removes a snapshot. @throws SnapshotRefusal when there is none of that name. */
  async remove(owner: Owner, name: string): Promise<void> {
    const { path } = await this.find(owner, name);
    await rm(path, { force: true });
    await rm(checksumPath(path), { force: true });
    await syncFolder(this.#folder(owner));
  }

  /** Whether another may be kept. @throws SnapshotRefusal */
  async refuseMore(): Promise<void> {
    const { maxSnapshots } = this.limits;
    const folders = [
      join(this.#root, OF_ALL),
      ...(await namesIn(join(this.#root, OF_COLLECTIONS))).map((name) =>
        join(this.#root, OF_COLLECTIONS, name),
      ),
    ];
    const counts = await Promise.all(
      folders.map(async (folder) => (await namesIn(folder)).filter((name) => NAME.test(name)).length),
    );
    if (counts.reduce((sum, count) => sum + count, 0) >= maxSnapshots) {
      throw malformed(`At most ${maxSnapshots} snapshots (max_snapshots): delete those that nobody needs`);
    }
  }

  /** Bytes that a snapshot may still take of the disk. */
  async roomBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.dataDir);
    return Math.max(0, bavail * bsize - KEPT_FREE_BYTES);
  }

  /** @throws SnapshotRefusal when there is less room, or a snapshot may not have so many bytes. */
  async refuseBeyondRoom(bytes: number): Promise<void> {
    if (bytes > this.limits.maxSnapshotBytes) {
      throw malformed(
        `The snapshot would have ${bytes} bytes: more than ${this.limits.maxSnapshotBytes} (max_snapshot_bytes)`,
      );
    }
    if (bytes > (await this.roomBytes())) throw noRoom();
  }

  /** Runs work with a new empty folder, which is removed afterwards with all that is in it. */
  withWorkFolder<T>(work: (folder: WorkFolder) => Promise<T>): Promise<T> {
    return this.#work.use(work);
  }

  /** Keeps an archive that was made and synced, durably. */
  async keep(
    owner: Owner,
    archive: string,
    digest: ArchiveDigest,
    createdAt: Date,
  ): Promise<SnapshotDescription> {
    const folder = this.#folder(owner);
    await makeFolder(folder);
    const name = nameOf(owner, createdAt);
    const path = join(folder, name);
    await writeFile(checksumPath(path), `${digest.sha256}\n`, { mode: 0o600, flush: true });
    // What a listing shows from then on.
    await utimes(archive, createdAt, createdAt);
    await rename(archive, path);
    await syncFolder(folder);
    return {
      name,
      creation_time: timeText(createdAt),
      size: digest.bytes,
      checksum: digest.sha256,
    };
  }

  #folder(owner: Owner): string {
    return owner === 'all'
      ? join(this.#root, OF_ALL)
      : join(
          this.#root,
          OF_COLLECTIONS,
          createHash('sha256').update(owner.collection).digest('hex').slice(0, 32),
        );
  }
}

function nameOf(owner: Owner, createdAt: Date): string {
  const time = createdAt.toISOString().slice(0, 19).replaceAll(/[T:]/g, '-');
  const number = randomBytes(8).readBigUInt64BE().toString().padStart(20, '0');
  if (owner === 'all') return `full-snapshot-${number}-${time}${SUFFIX}`;
  const shown = owner.collection.replaceAll(/[^A-Za-z0-9._-]/g, '_').slice(0, SHOWN_CHARACTERS);
  return `${/^[A-Za-z0-9]/.test(shown) ? shown : `c${shown}`}-${number}-${time}${SUFFIX}`;
}

function timeText(time: Date): string {
  return time.toISOString().slice(0, 19);
}

function checksumPath(path: string): string {
  return `${path}.checksum`;
}

/** What is known of a snapshot; undefined where there is none. */
async function describe(folder: string, name: string): Promise<SnapshotDescription | undefined> {
  const path = join(folder, name);
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) return undefined;
  const checksum = (await readFile(checksumPath(path), 'utf8').catch(() => '')).trim();
  return {
    name,
    creation_time: timeText(found.mtime),
    size: found.size,
    checksum: /^[0-9a-f]{64}$/.test(checksum) ? checksum : null,
  };
}
