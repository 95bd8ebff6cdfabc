import { useState } from 'preact/hooks';
import { ConfirmButton } from '../parts/confirm';
import { Form } from '../parts/form';
import { Failure } from '../parts/notice';
import { RequestView } from '../parts/request-view';
import { valueAt, type JsonObject } from '../service/exact-json';
import { count } from '../service/format';
import { useAction } from '../service/loading';
import { path, result } from '../service/request';
import { vectorFields, type VectorField } from '../service/types';
import type { CollectionPart } from './collection';
import { denseOf, newVector, sparseOf, type VectorDraft } from './draft';
import { quantizationText } from './present-settings';
import { Reembeddings } from './reembeddings';
import { VectorFields } from './vector-fields';

/** The vectors of a collection: listed, added and removed. */
export function Vectors({ name, info, reload }: CollectionPart) {
  const fields = vectorFields(info);
  const hasModels = info.vector_models !== undefined;
  return (
    <section>
      <h2>Vectors</h2>
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
              {hasModels && <th scope="col">Model</th>}
              <th scope="col">
                <span class="unseen">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {fields.map((field) => (
              <Row
                key={`${field.kind} ${field.name}`}
                name={name}
                field={field}
                info={info}
                reload={reload}
              />
            ))}
          </tbody>
        </table>
      </div>
      <Reembeddings name={name} info={info} reload={reload} />
      <AddVector name={name} reload={reload} />
    </section>
  );
}

function Row({ name, field, info, reload }: CollectionPart & { field: VectorField }) {
  const { name: vector, kind, params, modifier } = field;
  return (
    <tr>
      <th scope="row">{vector === '' ? <span class="faint">unnamed</span> : vector}</th>
      <td>{kind}</td>
      <td class="number">{params === undefined ? '' : count(params.size)}</td>
      <td>{params?.distance ?? (modifier === undefined ? 'Dot' : `Dot, ${modifier}`)}</td>
      <td>{params?.datatype ?? 'float32'}</td>
      <td>{kind === 'sparse' ? '' : quantizationText(info, field)}</td>
      {info.vector_models !== undefined && <td>{valueAt(info.vector_models, vector)?.name ?? ''}</td>}
      <td class="actions">
        {vector !== '' && (
          <ConfirmButton
            label="Remove"
            full={`Remove the vector ${vector}`}
            confirm="Remove it from all points"
            keep="Keep it"
            work={async () => {
              await result('DELETE', path('collections', name, 'vectors', vector));
              reload();
            }}
          />
        )}
      </td>
    </tr>
  );
}

/** What the endpoint takes: the shape of the vector; settings of its index are those of the collection. */
function bodyOf(draft: VectorDraft): JsonObject {
  if (draft.kind === 'sparse') return { sparse: sparseOf(draft) };
  const { size, distance, multivector_config: multi, datatype } = denseOf(draft);
  return {
    dense: {
      ...{ size: size ?? null, distance: distance ?? null },
      ...(multi !== undefined && { multivector_config: multi }),
      ...(datatype !== undefined && { datatype }),
    },
  };
}

function AddVector({ name, reload }: Pick<CollectionPart, 'name' | 'reload'>) {
  const [draft, setDraft] = useState(() => newVector());
  const request = {
    method: 'PUT',
    path: path('collections', name, 'vectors', draft.name),
    body: bodyOf(draft),
  } as const;
  const adding = useAction(async () => {
    await result('PUT', request.path, request.body);
    setDraft(newVector());
    reload();
  });
  return (
    <details class="more">
      <summary>Add a vector</summary>
      <Form submit={adding.run} label="Add a vector">
        <p class="hint">Points have none in it until they are written.</p>
        <VectorFields
          vector={draft}
          position={1}
          isAdded
          change={(over) => {
            setDraft({ ...draft, ...over });
          }}
          remove={undefined}
        />
        <Failure error={adding.error} />
        <button type="submit" class="primary" disabled={draft.name === '' || adding.isRunning}>
          Add vector
        </button>
        <RequestView request={request} />
      </Form>
    </details>
  );
}
