import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { JsonView } from '../parts/json-view';
import { Notice } from '../parts/notice';
import { count } from '../service/format';
import { useInterval, useLoading } from '../service/loading';
import { path, result } from '../service/request';
import { vectorFields, type CollectionInfo, type VectorField } from '../service/types';
import { compact } from '../service/exact-json';
import type { CollectionPart } from './collection';
import { DeleteCollection } from './delete';
import { FieldIndexes } from './field-indexes';
import { ChangeSettings } from './settings';
import { StatusMark, statusSentence } from './status';

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
      <section>
        <h2>Vectors</h2>
        <VectorTable fields={vectorFields(info)} info={info} />
      </section>
      <FieldIndexes name={name} info={info} reload={reload} />
      <section>
        <h2>Settings</h2>
        <ChangeSettings name={name} info={info} reload={reload} />
        <details class="more">
          <summary>All settings as the server has them</summary>
          <JsonView value={info.config} label="Settings of the collection" />
        </details>
      </section>
      <section>
        <h2>Delete the collection</h2>
        <p>Its points, indexes and settings are removed at once. Only a backup brings them back.</p>
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
  useInterval(waiting.reload, 5000);
  const queued = waiting.value?.summary.queued_points ?? 0;
  const indexed = info.indexed_vectors_count;
  return (
    <>
      <dl class="figures">
        <Figure label="Points">{count(info.points_count)}</Figure>
        <Figure label="Status">
          <StatusMark info={info} />
        </Figure>
        <Figure label="Vectors in an index">{count(indexed)}</Figure>
        <Figure label="Waiting to be indexed">{count(queued)}</Figure>
      </dl>
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

export function Figure({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function VectorTable({ fields, info }: { fields: readonly VectorField[]; info: CollectionInfo }) {
  return (
    <div class="table-frame" tabIndex={0} role="region" aria-label="Vectors">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Kind</th>
            <th scope="col" class="number">
              Size
            </th>
            <th scope="col">Distance</th>
            <th scope="col">Stored as</th>
            <th scope="col">Quantization</th>
          </tr>
        </thead>
        <tbody>
          {fields.map(({ name, kind, params, modifier }) => (
            <tr key={`${kind} ${name}`}>
              <th scope="row">{name === '' ? <span class="faint">unnamed</span> : name}</th>
              <td>{kind}</td>
              <td class="number">{params === undefined ? '' : count(params.size)}</td>
              <td>{params?.distance ?? (modifier === undefined ? 'Dot' : `Dot, ${modifier}`)}</td>
              <td>{params?.datatype ?? 'float32'}</td>
              <td>
                {kind === 'sparse'
                  ? ''
                  : quantizationText(params?.quantization_config ?? info.config.quantization_config)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function quantizationText(config: object | null): string {
  if (config === null) return 'none';
  const [[kind, of] = ['', undefined]] = Object.entries(config).filter(([, value]) => value !== null);
  const detail = Object.values((of ?? {}) as object).find((value) => typeof value === 'string');
  return kind === '' ? compact(config) : `${kind}${typeof detail === 'string' ? `, ${detail}` : ''}`;
}
