import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { EngineError, type Engine } from '../engine/types';
import { isDiskFull } from '../files/explained';
import { productVersion } from '../system/version';
import {
  bytesOf,
  filesIn,
  readArchive,
  writeArchive,
  type ArchivedCollection,
  type ArchiveIndex,
  type SnapshotKind,
} from './archive';
import { busy, malformed, noRoom } from './failure';
import {
  adoptFolders,
  collectionExists,
  collectionNamed,
  collectionNames,
  isGone,
  linkFiles,
} from './files-of-collections';
import type { Owner, SnapshotDescription, SnapshotStore } from './store';
import type { WorkFolder } from './work-folders';

/** How many are made or recovered at a time: each reads or writes all of a collection. */
const AT_ONCE = 2;
const READ_BYTES = 1024 * 1024;
/** What the tar has beside the files: a header for each, and its padding. */
const BYTES_PER_FILE = 1024;

/** What a recovery takes into account. */
export interface RecoverOptions {
  /** The SHA-256 that the archive must have. */
  readonly checksum?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Makes snapshots of collections and recovers them (C12): what the engine links is packed into one file, and what was
 * unpacked becomes a collection in one step of the engine. The store of authentication is in none. The name of an alias means
 * its collection in each call.
 */
export class SnapshotService {
  #running = 0;

  constructor(private readonly store: SnapshotStore) {}

  /** Removes what processes that ended have left. Only the owner of the data directory may call it. */
  removeUnfinished(): Promise<void> {
    return this.store.removeUnfinished();
  }

  /** The snapshots of a collection, or of all of them. @throws EngineError when there is neither collection nor snapshot. */
  async list(engine: Engine, asked: Owner): Promise<readonly SnapshotDescription[]> {
    const owner = await ownerNamed(engine, asked);
    const found = await this.store.list(owner);
    // Those of a collection that was deleted stay, and can be recovered.
    if (found.length === 0 && owner !== 'all' && !(await collectionExists(engine, owner.collection))) {
      throw new EngineError('collection_not_found', { name: owner.collection });
    }
    return found;
  }

  /** A snapshot and its path. @throws SnapshotRefusal when there is none of that name. */
  async find(
    engine: Engine,
    owner: Owner,
    name: string,
  ): Promise<SnapshotDescription & { readonly path: string }> {
    return this.store.find(await ownerNamed(engine, owner), name);
  }

  /** Removes a snapshot. @throws SnapshotRefusal when there is none of that name. */
  async remove(engine: Engine, owner: Owner, name: string): Promise<void> {
    await this.store.remove(await ownerNamed(engine, owner), name);
  }

  /**
   * Makes a snapshot of a collection, or of all of them, each at one operation. Durable when it resolves. One of all fails where
   * it would lack a collection that there is.
   */
  create(engine: Engine, asked: Owner, signal: AbortSignal): Promise<SnapshotDescription> {
    return this.#alone(async () => {
      await this.store.refuseMore();
      const owner = await ownerNamed(engine, asked);
      return this.#withWorkFolder(engine, async (work) => {
        const names = owner === 'all' ? await collectionNames(engine) : [owner.collection];
        const createdAt = new Date();
        const index: ArchiveIndex = {
          kind: owner === 'all' ? 'all' : 'collection',
          kithdb_version: productVersion(),
          created_at: createdAt.toISOString(),
          collections: await link(engine, work, names, owner === 'all', signal),
        };
        const files = index.collections.reduce((sum, one) => sum + one.files.length, 1);
        await this.store.refuseBeyondRoom(bytesOf(index) + files * BYTES_PER_FILE);
        const archive = join(work.path, 'archive');
        const digest = await writeArchive(work.path, index, archive, signal);
        return this.store.keep(owner, archive, digest, createdAt);
      });
    });
  }

  /**
   * Makes the collection of a snapshot that is kept, or replaces it: all or nothing, durable when it resolves. The snapshot
   * may be that of another collection.
   */
  async recover(engine: Engine, collection: string, name: string, options: RecoverOptions): Promise<void> {
    const named = await collectionNamed(engine, collection);
    const { path } = await this.store.findOfAny(named, name);
    await this.recoverFrom(engine, { collection: named }, await opened(path), options);
  }

  /** Recovers all collections of a full snapshot. Other collections stay as they are. */
  async recoverAll(engine: Engine, name: string, options: RecoverOptions): Promise<void> {
    const { path } = await this.store.find('all', name);
    await this.recoverFrom(engine, 'all', await opened(path), options);
  }

  /** Recovers from an archive while it is received. */
  recoverFrom(engine: Engine, asked: Owner, archive: Readable, options: RecoverOptions): Promise<void> {
    const recovered = this.#alone(() =>
      this.#withWorkFolder(engine, async (work) => {
        const kind: SnapshotKind = asked === 'all' ? 'all' : 'collection';
        const folder = await work.below('files');
        const { index, digest } = await readArchive(archive, {
          into: join(work.path, 'files'),
          kind,
          digests: options.checksum !== undefined,
          mostBytes: this.store.limits.maxSnapshotBytes,
          roomBytes: await this.store.roomBytes(),
          signal: options.signal,
        });
        const { checksum } = options;
        if (checksum !== undefined && checksum.toLowerCase() !== digest.sha256) {
          throw malformed(`The snapshot has the checksum ${digest.sha256}, not ${checksum}`);
        }
        options.signal.throwIfAborted();
        const owner = await ownerNamed(engine, asked);
        await adoptFolders(
          engine,
          index.collections.map((one) => ({
            name: owner === 'all' ? one.name : owner.collection,
            folder: `${folder}/${one.folder}`,
          })),
        );
      }),
    );
    return recovered.finally(() => archive.destroy());
  }

  async #withWorkFolder<T>(engine: Engine, work: (folder: WorkFolder) => Promise<T>): Promise<T> {
    if (engine.role?.() === 'owner') {
      // What cannot be removed only takes room.
      await this.store.removeUnfinished().catch(() => undefined);
    }
    return this.store.withWorkFolder(work);
  }

  /** Runs work unless too much is under way. @throws SnapshotRefusal */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= AT_ONCE) throw busy();
    this.#running += 1;
    try {
      return await work();
    } catch (error) {
      throw isDiskFull(error) && !(error instanceof EngineError) ? noRoom() : error;
    } finally {
      this.#running -= 1;
    }
  }
}

/** The bytes of an archive. A file that cannot be opened fails here: the error of a stream that nobody reads yet has no listener. */
async function opened(path: string): Promise<Readable> {
  const file = await open(path);
  return file.createReadStream({ highWaterMark: READ_BYTES });
}

async function ownerNamed(engine: Engine, owner: Owner): Promise<Owner> {
  return owner === 'all' ? owner : { collection: await collectionNamed(engine, owner.collection) };
}

/** A failure of one of all collections, with its name where there is a message that can have it. */
function naming(collection: string, error: unknown): unknown {
  return error instanceof EngineError && error.details.message !== undefined
    ? new EngineError(error.code, {
        ...error.details,
        message: `collection ${collection}: ${error.details.message}`,
      })
    : error;
}

/** Has the engine link the files of collections, each into a folder of its own. Of all, those that are deleted meanwhile are left out. */
async function link(
  engine: Engine,
  work: WorkFolder,
  names: readonly string[],
  ofAll: boolean,
  signal: AbortSignal,
): Promise<readonly ArchivedCollection[]> {
  const linked: ArchivedCollection[] = [];
  for (const [at, name] of names.entries()) {
    signal.throwIfAborted();
    const folder = String(at + 1);
    try {
      await linkFiles(engine, name, await work.below(folder));
    } catch (error) {
      if (!ofAll) throw error;
      if (isGone(error)) continue;
      throw naming(name, error);
    }
    linked.push({ name, folder, files: await filesIn(join(work.path, folder)) });
  }
  return linked;
}
