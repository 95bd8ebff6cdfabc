import type { Snapshot, SnapshotCalls, SnapshotOwner } from '../client/snapshots';
import type { Schemas } from '../client/types';
import { answerError } from '../client/errors';
import { SnapshotRefusal } from '../snapshots/failure';
import { DEFAULT_SNAPSHOT_LIMITS } from '../snapshots/limits';
import { snapshotNameOf } from '../snapshots/location';
import { recoverBodyOf } from '../snapshots/recover-body';
import { SnapshotService } from '../snapshots/service';
import { SnapshotStore } from '../snapshots/store';
import type { EmbeddedTransport } from './transport';

const FAILED = 'Snapshot operation failed';

/** The folder whose snapshots they are. */
export interface SnapshotFolder {
  readonly dataDir: string;
  readonly readOnly: boolean;
}

/**
 * The snapshots of a folder. This process packs and unpacks the files; the owner's engine, which may be in another process,
 * links them and makes collections of them.
 */
export class EmbeddedSnapshots implements SnapshotCalls {
  readonly #service: SnapshotService;
  readonly #isReadOnly: boolean;

  constructor(
    private readonly transport: EmbeddedTransport,
    { dataDir, readOnly }: SnapshotFolder,
  ) {
    this.#service = new SnapshotService(new SnapshotStore(dataDir, DEFAULT_SNAPSHOT_LIMITS));
    this.#isReadOnly = readOnly;
  }

  list(owner: SnapshotOwner, signal: AbortSignal): Promise<Snapshot[]> {
    return this.#run(signal, async (engine) => [...(await this.#service.list(engine, owner))]);
  }

  create(owner: SnapshotOwner, signal: AbortSignal): Promise<Snapshot> {
    this.#refuseReadOnly();
    return this.#run(signal, (engine) => this.#service.create(engine, owner, signal));
  }

  remove(owner: SnapshotOwner, name: string, signal: AbortSignal): Promise<boolean> {
    this.#refuseReadOnly();
    return this.#run(signal, async (engine) => {
      await this.#service.remove(engine, owner, name);
      return true;
    });
  }

  recover(owner: SnapshotOwner, args: Schemas['SnapshotRecover'], signal: AbortSignal): Promise<boolean> {
    this.#refuseReadOnly();
    return this.#run(signal, async (engine) => {
      const { body } = recoverBodyOf(args);
      const name = snapshotNameOf(body.location);
      const options = { checksum: body.checksum, signal };
      await (owner === 'all'
        ? this.#service.recoverAll(engine, name, options)
        : this.#service.recover(engine, owner.collection, name, options));
      return true;
    });
  }

  #run<T>(signal: AbortSignal, work: Parameters<typeof this.transport.withEngine<T>>[0]): Promise<T> {
    return this.transport.withEngine(
      async (engine) => {
        try {
          return await work(engine);
        } catch (error) {
          if (!(error instanceof SnapshotRefusal)) throw error;
          const { status, message, retryAfterSeconds } = error.failure;
          throw answerError(status, message, { retryAfterSeconds, cause: error });
        }
      },
      { prefix: FAILED, signal },
    );
  }

  #refuseReadOnly(): void {
    if (this.#isReadOnly) {
      throw answerError(400, 'the folder is open for reading only (readOnly)');
    }
  }
}
