import type { HttpTransport } from './http-transport';
import type { Retries } from './retries';
import type { Schemas } from './types';

export type Snapshot = Schemas['SnapshotDescription'];

/** Whose snapshots they are: a collection's by its name, or those of all collections. */
export type SnapshotOwner = { readonly collection: string } | 'all';

/** What Qdrant's client takes when a snapshot is made or removed; on one node it has no effect. */
export interface SnapshotFlags {
  readonly wait?: boolean;
}

/** Snapshots over what a client stands on (C12). Rejects as the transport of a client does. */
export interface SnapshotCalls {
  list(owner: SnapshotOwner, signal: AbortSignal): Promise<Snapshot[]>;
  create(owner: SnapshotOwner, signal: AbortSignal, flags: SnapshotFlags): Promise<Snapshot>;
  remove(owner: SnapshotOwner, name: string, signal: AbortSignal, flags: SnapshotFlags): Promise<boolean>;
  recover(owner: SnapshotOwner, args: Schemas['SnapshotRecover'], signal: AbortSignal): Promise<boolean>;
}

/** The snapshots of a server, which answers in the dialect `qdrant`. */
export class RemoteSnapshots implements SnapshotCalls {
  constructor(
    private readonly http: HttpTransport,
    private readonly retries: Retries,
  ) {}

  list(owner: SnapshotOwner, signal: AbortSignal): Promise<Snapshot[]> {
    return this.#send('GET', pathOf(owner), undefined, signal);
  }

  create(owner: SnapshotOwner, signal: AbortSignal, flags: SnapshotFlags): Promise<Snapshot> {
    return this.#send('POST', pathOf(owner) + queryOf(flags), undefined, signal);
  }

  remove(owner: SnapshotOwner, name: string, signal: AbortSignal, flags: SnapshotFlags): Promise<boolean> {
    const path = `${pathOf(owner)}/${encodeURIComponent(name)}${queryOf(flags)}`;
    return this.#send('DELETE', path, undefined, signal);
  }

  recover(owner: SnapshotOwner, args: Schemas['SnapshotRecover'], signal: AbortSignal): Promise<boolean> {
    return this.#send('PUT', `${pathOf(owner)}/recover`, args, signal);
  }

  async #send<T>(method: string, path: string, body: unknown, signal: AbortSignal): Promise<T> {
    const answer = await this.retries.run(method === 'GET', signal, () =>
      this.http.request({ method, path, body, signal }),
    );
    return (answer as { readonly result: T }).result;
  }
}

function pathOf(owner: SnapshotOwner): string {
  return owner === 'all' ? '/snapshots' : `/collections/${encodeURIComponent(owner.collection)}/snapshots`;
}

function queryOf({ wait }: SnapshotFlags): string {
  return wait === undefined ? '' : `?wait=${wait}`;
}
