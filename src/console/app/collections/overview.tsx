import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { JsonView } from '../parts/json-view';
import { Notice } from '../parts/notice';
import { bytes, count } from '../service/format';
import { useInterval, useLoading } from '../service/loading';
import { linkTo } from '../service/location';
import { path, result } from '../service/request';
import { isQdrant } from '../service/server';
import { vectorFields, type CollectionInfo } from '../service/types';
import { Aliases } from './aliases';
import { Clone } from './clone';
import type { CollectionPart } from './collection';
import { DeleteCollection } from './delete';
import { FieldIndexes } from './field-indexes';
import { RecallMark, recallSentence } from './recall-mark';
import { ChangeSettings } from './settings';
import { StatusMark, statusSentence } from './status';
import { Vectors } from './vectors';

interface Waiting {
  readonly summary: { readonly queued_points: number };
}

/** What a collection is, what it has, and how it is changed. */
export function Overview({ name, info, reload }: CollectionPart) {
  const [isDeleting, setDeleting] = useState(false);
  return (
    <>
      <Figures name={name} info={info} />
      {info.status === 'red' && <Notice kind="warn">{statusSentence(info)}</Notice>}
      {info.warnings.map(({ message }) => (
        <Notice kind="warn" key={message}>
          {message}
        </Notice>
      ))}
      <Vectors name={name} info={info} reload={reload} />
      <FieldIndexes name={name} info={info} reload={reload} />
      <section>
        <h2>Settings</h2>
        {info.ids === 'string' && <p>The ids of points are integers and strings.</p>}
        <ChangeSettings name={name} info={info} reload={reload} />
        <details class="more">
          <summary>All settings as the server has them</summary>
          <JsonView value={info.config} label="Settings of the collection" />
        </details>
      </section>
      <Clone name={name} />
      {isQdrant.value && <Aliases name={name} />}
      <section>
        <h2>Delete the collection</h2>
        <p>
          Its points, indexes and settings are removed at once. Only a backup
          {isQdrant.value && ' or a snapshot'} brings them back.
        </p>
        <button
          type="button"
          class="danger"
          onClick={() => {
            setDeleting(true);
          }}
        >
          Delete collection …
        </button>
        {isDeleting && (
          <DeleteCollection
            name={name}
            points={info.points_count}
            close={() => {
              setDeleting(false);
            }}
          />
        )}
      </section>
    </>
  );
}

/** The counts of a collection; `queued_points` are vectors that will be in a graph and are not yet. */
function Figures({ name, info }: { name: string; info: CollectionInfo }) {
  const waiting = useLoading(
    (signal) => result<Waiting>('GET', path('collections', name, 'optimizations'), undefined, { signal }),
    [name],
  );
  useInterval(waiting.refresh, 5000);
  const queued = waiting.value?.summary.queued_points ?? 0;
  const indexed = info.indexed_vectors_count ?? 0;
  return (
    <>
      <dl class="figures">
        <Figure label="Points">{count(info.points_count)}</Figure>
        <Figure label="Status">
          <StatusMark info={info} />
        </Figure>
        <Figure label="Vectors in an index">{count(info.indexed_vectors_count)}</Figure>
        <Figure label="Waiting to be indexed">{count(queued)}</Figure>
        {info.size && (
          <>
            <Figure label="Memory">
              {info.residency?.state === 'asleep' ? 'asleep' : bytes(info.size.memory_bytes)}
            </Figure>
            <Figure label="Disk">{bytes(info.size.disk_bytes)}</Figure>
          </>
        )}
        {hasGraphs(info) && (
          <Figure label="Recall, measured">
            <RecallMark estimate={info.recall_estimate} />
          </Figure>
        )}
      </dl>
      {info.recall_estimate && (
        <p class="hint">
          {recallSentence(info.recall_estimate)} <a href={linkTo('collections', name, 'recall')}>By width</a>
        </p>
      )}
      {queued > 0 && (
        <div class="field">
          <label for="index-progress">Index progress</label>
          <progress id="index-progress" max={indexed + queued} value={indexed} />
          <p class="hint">{statusSentence(info)}</p>
        </div>
      )}
    </>
  );
}

/** Whether any vector of the collection can be walked to. */
function hasGraphs(info: CollectionInfo): boolean {
  return vectorFields(info).some(({ kind }) => kind === 'dense');
}

export function Figure({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
