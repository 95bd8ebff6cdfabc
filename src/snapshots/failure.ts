import { badRequest, overloaded, storageFull, type Failure } from '../http/errors';

/** Why a request about snapshots is refused. */
export class SnapshotRefusal extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message);
    this.name = 'SnapshotRefusal';
  }
}

/** A request, or an archive, that is not what it should be: a sentence that names the place. */
export function malformed(message: string): SnapshotRefusal {
  return new SnapshotRefusal(badRequest(message));
}

/** No snapshot of that name. */
export function notFound(name: string): SnapshotRefusal {
  return new SnapshotRefusal({ status: 404, message: `Not found: Snapshot ${name} not found` });
}

/** Too many are made or recovered at once. */
export function busy(): SnapshotRefusal {
  return new SnapshotRefusal(overloaded('Too many snapshots are made, sent or recovered at once'));
}

/** The disk has no room for a snapshot. */
export function noRoom(): SnapshotRefusal {
  return new SnapshotRefusal(storageFull('Snapshot operation failed'));
}
