import { AreaField, Segments, SelectField, TextField } from '../parts/form';
import { fieldLabel, type VectorField } from '../service/types';
import { TEXT_MODEL } from '../upload/mapping';
import type { Mode, SearchDraft } from './query';

export interface QueryPart {
  readonly draft: SearchDraft;
  readonly change: (over: Partial<SearchDraft>) => void;
}

const MODES = [
  { value: 'id', label: 'Like a point' },
  { value: 'text', label: 'Text' },
  { value: 'vector', label: 'Vector' },
  { value: 'random', label: 'At random' },
];

/** What is searched for, and among which vectors. */
export function QueryFields({ draft, change, fields }: QueryPart & { fields: readonly VectorField[] }) {
  return (
    <>
      <Segments
        label="Search by"
        value={draft.mode}
        choices={MODES}
        change={(mode) => {
          change({ mode: mode as Mode });
        }}
      />
      <div class="columns query">
        {draft.mode !== 'random' && (
          <SelectField
            label="Among"
            value={draft.using}
            choices={fields.map((field) => ({ value: field.name, label: fieldLabel(field) }))}
            change={(using) => {
              change({ using });
            }}
          />
        )}
        <Subject draft={draft} change={change} />
        <TextField
          label="Limit"
          type="number"
          min={1}
          required
          value={draft.limit}
          change={(limit) => {
            change({ limit });
          }}
        />
      </div>
    </>
  );
}

function Subject({ draft, change }: QueryPart) {
  switch (draft.mode) {
    case 'id':
      return (
        <TextField
          label="Id of the point"
          mono
          value={draft.id}
          placeholder="7, a UUID or a string"
          hint="Finds the points whose vectors are nearest to its own."
          change={(id) => {
            change({ id });
          }}
        />
      );
    case 'text':
      return (
        <>
          <TextField
            label="Text"
            value={draft.text}
            placeholder="What are you looking for?"
            change={(text) => {
              change({ text });
            }}
          />
          <TextField
            label="Model"
            mono
            value={draft.model}
            choices={[TEXT_MODEL]}
            hint="Makes the vector. qdrant/bm25 is built in, for sparse vectors."
            change={(model) => {
              change({ model });
            }}
          />
        </>
      );
    case 'vector':
      return (
        <AreaField
          label="Vector as JSON"
          rows={3}
          value={draft.vector}
          placeholder="[0.1, 0.9, 0.2]"
          change={(vector) => {
            change({ vector });
          }}
        />
      );
    case 'random':
      return <p class="hint">Points at random, each as likely as the others.</p>;
  }
}
