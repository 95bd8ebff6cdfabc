import { useState } from 'preact/hooks';
import { ConfirmButton } from '../parts/confirm';
import { Form, SelectField, TextField } from '../parts/form';
import { Failure } from '../parts/notice';
import { RequestView } from '../parts/request-view';
import { count } from '../service/format';
import { useAction } from '../service/loading';
import { path, result } from '../service/request';
import type { FieldIndex } from '../service/types';
import { FIELD_TYPES } from './choices';
import type { CollectionPart } from './collection';

/** The field indexes of a collection: listed, added and removed. */
export function FieldIndexes({ name, info, reload }: CollectionPart) {
  const entries = Object.entries(info.payload_schema);
  return (
    <section>
      <h2>Field indexes</h2>
      {entries.length === 0 && (
        <p>
          No field of the payload is indexed. Filters work without an index; with one they are fast on large
          collections.
        </p>
      )}
      {entries.length > 0 && (
        <div class="table-frame" tabIndex={0} role="region" aria-label="Field indexes">
          <table>
            <thead>
              <tr>
                <th scope="col">Field</th>
                <th scope="col">Type</th>
                <th scope="col" class="number">
                  Points
                </th>
                <th scope="col">
                  <span class="unseen">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {entries.map(([field, index]) => (
                <IndexRow key={field} name={name} field={field} index={index} reload={reload} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <AutoIndexes indexes={info.auto_indexes ?? {}} />
      <AddIndex name={name} reload={reload} />
    </section>
  );
}

/** The indexes that the server made by itself; nothing where there is none. */
function AutoIndexes({ indexes }: { readonly indexes: Readonly<Record<string, FieldIndex>> }) {
  const entries = Object.entries(indexes);
  if (entries.length === 0) return null;
  return (
    <p>
      Made automatically for filters:{' '}
      {entries.map(([field, index], at) => (
        <span key={field}>
          {at > 0 && ', '}
          <span class="mono">{field}</span> ({index.data_type}, {count(index.points)} points)
        </span>
      ))}
      . They are dropped when they are not used.
    </p>
  );
}

interface RowProps {
  readonly name: string;
  readonly field: string;
  readonly index: FieldIndex;
  readonly reload: () => void;
}

function IndexRow({ name, field, index, reload }: RowProps) {
  return (
    <tr>
      <th scope="row" class="mono">
        {field}
      </th>
      <td>{index.data_type}</td>
      <td class="number">{count(index.points)}</td>
      <td class="actions">
        <ConfirmButton
          label="Remove"
          full={`Remove the index of ${field}`}
          confirm="Remove the index"
          keep="Keep it"
          work={async () => {
            await result('DELETE', path('collections', name, 'index', field));
            reload();
          }}
        />
      </td>
    </tr>
  );
}

function AddIndex({ name, reload }: Pick<CollectionPart, 'name' | 'reload'>) {
  const [field, setField] = useState('');
  const [type, setType] = useState('keyword');
  const request = {
    method: 'PUT',
    path: path('collections', name, 'index'),
    body: { field_name: field, field_schema: type },
  } as const;
  const adding = useAction(async () => {
    await result('PUT', request.path, request.body);
    setField('');
    reload();
  });
  return (
    <details class="more">
      <summary>Add a field index</summary>
      <Form submit={adding.run} label="Add a field index">
        <div class="columns">
          <TextField
            label="Field"
            mono
            required
            value={field}
            placeholder="a.b or tags[].name"
            hint="The path of the field in the payload."
            change={setField}
          />
          <SelectField label="Type" value={type} choices={FIELD_TYPES} change={setType} />
        </div>
        <Failure error={adding.error} />
        <button type="submit" class="primary" disabled={field === '' || adding.isRunning}>
          Add index
        </button>
        <RequestView request={request} />
      </Form>
    </details>
  );
}
