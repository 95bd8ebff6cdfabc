import { ConfirmButton } from '../parts/confirm';
import { Empty, Failure, Waiting } from '../parts/notice';
import { bytes, date } from '../service/format';
import { useAction, useLoading } from '../service/loading';
import { path, result } from '../service/request';
import { recoverFrom, saveSnapshot } from './files';

interface Snapshot {
  readonly name: string;
  readonly creation_time: string | null;
  readonly size: number;
  readonly checksum: string | null;
}

interface Props {
  /** The path of the snapshots: those of a collection or of all. */
  readonly of: string;
  /** What a recovery replaces. */
  readonly replaced: string;
  /** Whether the credential may save and recover them. */
  readonly canRecover: boolean;
  readonly recovered: () => void;
}

/** Snapshots: made, saved, recovered from, deleted (C12). */
export function SnapshotList({ of, replaced, canRecover, recovered }: Props) {
  const snapshots = useLoading(
    (signal) => result<readonly Snapshot[]>('GET', of, undefined, { signal }),
    [of],
  );
  const making = useAction(async () => {
    await result('POST', of);
    snapshots.reload();
  });
  const found = snapshots.value;
  return (
    <>
      <div class="row">
        <button type="button" class="primary" disabled={making.isRunning} onClick={making.run}>
          {making.isRunning ? 'Making it …' : 'Make a snapshot'}
        </button>
      </div>
      <Failure error={making.error} />
      <Failure error={snapshots.error} retry={snapshots.reload} />
      {found === undefined && snapshots.error === undefined && <Waiting what="the snapshots" />}
      {found?.length === 0 && (
        <Empty title="No snapshot yet">
          <p>A snapshot is a file with the state of the moment. It stays when a collection is deleted.</p>
        </Empty>
      )}
      {found !== undefined && found.length > 0 && (
        <div class="table-frame" tabIndex={0} role="region" aria-label="Snapshots">
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Made</th>
                <th scope="col" class="number">
                  Size
                </th>
                <th scope="col">
                  <span class="unseen">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {found.map((snapshot) => (
                <Row
                  key={snapshot.name}
                  snapshot={snapshot}
                  of={of}
                  replaced={replaced}
                  canRecover={canRecover}
                  recovered={recovered}
                  deleted={snapshots.reload}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

function Row({
  snapshot: { name, creation_time: made, size, checksum },
  of,
  replaced,
  canRecover,
  recovered,
  deleted,
}: Props & { snapshot: Snapshot; deleted: () => void }) {
  const saving = useAction(() => saveSnapshot(of, name));
  return (
    <tr>
      <th scope="row" class="mono">
        {name}
        {checksum !== null && <p class="hint digest">SHA-256 {checksum.slice(0, 16)}…</p>}
        <Failure error={saving.error} />
      </th>
      <td class="when">{made === null ? '' : date(`${made}Z`.replace(/ZZ$/, 'Z'))}</td>
      <td class="number">{bytes(size)}</td>
      <td class="actions">
        {canRecover && (
          <>
            <button
              type="button"
              class="quiet"
              aria-label={`Save ${name}`}
              disabled={saving.isRunning}
              onClick={saving.run}
            >
              {saving.isRunning ? 'Saving …' : 'Save'}
            </button>
            <ConfirmButton
              label="Recover"
              full={`Recover from ${name}`}
              look="quiet"
              confirm={`Replace ${replaced}`}
              work={async () => {
                await recoverFrom(of, name);
                recovered();
              }}
            />
          </>
        )}
        <ConfirmButton
          label="Delete"
          full={`Delete ${name}`}
          confirm="Delete the snapshot"
          work={async () => {
            await result('DELETE', `${of}${path(name)}`);
            deleted();
          }}
        />
      </td>
    </tr>
  );
}
