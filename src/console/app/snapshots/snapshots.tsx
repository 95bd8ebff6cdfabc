import { useRef, useState } from 'preact/hooks';
import type { CollectionPart } from '../collections/collection';
import { Form, TextField } from '../parts/form';
import { Failure, Notice } from '../parts/notice';
import { bytes } from '../service/format';
import { useAction } from '../service/loading';
import { goTo } from '../service/location';
import { path } from '../service/request';
import { sendSnapshot } from './files';
import { SnapshotList } from './list';

/** The snapshots of a collection. */
export default function SnapshotsPage({ name, reload }: CollectionPart) {
  const [isRecovered, setRecovered] = useState(false);
  return (
    <>
      {isRecovered && (
        <Notice kind="good">The collection has what the snapshot had, from the first request on.</Notice>
      )}
      <SnapshotList
        of={path('collections', name, 'snapshots')}
        replaced={name}
        canRecover
        recovered={() => {
          setRecovered(true);
          reload();
        }}
      />
      <UploadSnapshot name={name} reload={reload} />
    </>
  );
}

/** Makes or replaces a collection from a file. */
function UploadSnapshot({ name, reload }: Pick<CollectionPart, 'name' | 'reload'>) {
  const [file, setFile] = useState<File>();
  const [to, setTo] = useState(name);
  const [sent, setSent] = useState(0);
  const abort = useRef<AbortController | undefined>(undefined);
  const sending = useAction(async () => {
    if (file === undefined) return;
    abort.current = new AbortController();
    setSent(0);
    // One that was stopped late may have been replaced too.
    await sendSnapshot(to, file, abort.current.signal, setSent).finally(reload);
    goTo('collections', to);
  });
  return (
    <section>
      <h2>Recover from a file</h2>
      <Form submit={sending.run} label="Recover from a file">
        <div class="columns">
          <ChooseFile choose={setFile} disabled={sending.isRunning} />
          <TextField
            label="As the collection"
            required
            value={to}
            hint={
              to === name
                ? 'It is replaced, all at once, when everything has been verified.'
                : 'It is made, or replaced if it is there.'
            }
            change={setTo}
          />
        </div>
        {sending.isRunning && file !== undefined && <Sending sent={sent} size={file.size} />}
        <Failure error={sending.error} />
        <div class="form-end">
          <button
            type="submit"
            class={to === name ? 'danger' : 'primary'}
            disabled={file === undefined || to === '' || sending.isRunning}
          >
            {to === name ? `Replace ${name}` : 'Recover'}
          </button>
          {sending.isRunning && (
            <button
              type="button"
              onClick={() => {
                abort.current?.abort();
              }}
            >
              Stop
            </button>
          )}
        </div>
      </Form>
    </section>
  );
}

function ChooseFile({ choose, disabled }: { choose: (file: File | undefined) => void; disabled: boolean }) {
  return (
    <div class="field">
      <label for="snapshot-file">A snapshot of one collection</label>
      <input
        id="snapshot-file"
        type="file"
        accept=".snapshot,.tar"
        disabled={disabled}
        onChange={(event) => {
          choose(event.currentTarget.files?.[0]);
        }}
      />
    </div>
  );
}

function Sending({ sent, size }: { sent: number; size: number }) {
  return (
    <div class="field">
      <label for="snapshot-progress">
        {sent < size
          ? `${bytes(sent)} of ${bytes(size)} sent`
          : 'Sent. The server verifies it and makes it the collection.'}
      </label>
      <progress id="snapshot-progress" max={Math.max(size, 1)} value={sent} />
    </div>
  );
}
