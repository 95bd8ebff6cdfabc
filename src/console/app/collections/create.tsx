import { useState } from 'preact/hooks';
import { Form, SelectField, TextField } from '../parts/form';
import { Failure } from '../parts/notice';
import { RequestView } from '../parts/request-view';
import { useAction } from '../service/loading';
import { goTo, linkTo } from '../service/location';
import { path, result } from '../service/request';
import { bodyOf, missingOf, newCollection, newVector, type CollectionDraft, type VectorDraft } from './draft';
import { TargetRecall } from '../search/target-recall';
import { VectorFields } from './vector-fields';

const DURABILITIES = [
  {
    value: 'always',
    label: 'Always',
    about: 'A write is answered when it is on disk: it survives a power cut.',
  },
  {
    value: 'interval',
    label: 'Interval',
    about: 'A write is answered when the system has it: a power cut can take the writes of the last second.',
  },
  {
    value: 'os',
    label: 'When the system likes',
    about: 'As interval, without a promise when writes reach the disk.',
  },
];

const ID_KINDS = [
  { value: 'default', label: 'Integers and UUIDs', about: 'The ids that every client knows.' },
  {
    value: 'string',
    label: 'Integers and strings',
    about: 'Any string of 1 to 256 bytes. It cannot be changed afterwards.',
  },
];

export function CreatePage() {
  const [draft, setDraft] = useState<CollectionDraft>(newCollection);
  const missing = missingOf(draft);
  const request = { method: 'PUT', path: path('collections', draft.name), body: bodyOf(draft) } as const;
  const creating = useAction(async () => {
    await result('PUT', request.path, request.body);
    goTo('collections', draft.name);
  });
  return (
    <div class="narrow">
      <header class="page-head">
        <h1>New collection</h1>
      </header>
      <Form submit={creating.run}>
        <TextField
          label="Name"
          value={draft.name}
          required
          autofocus
          change={(name) => {
            setDraft({ ...draft, name });
          }}
        />
        <Vectors draft={draft} setDraft={setDraft} />
        <Defaults draft={draft} setDraft={setDraft} />
        <RequestView request={request} />
        <Failure error={creating.error} />
        <footer class="form-end">
          <button type="submit" class="primary" disabled={missing !== undefined || creating.isRunning}>
            {creating.isRunning ? 'Making it …' : 'Create collection'}
          </button>
          <a class="button" href={linkTo('collections')}>
            Cancel
          </a>
          {missing !== undefined && <p class="hint">{missing}</p>}
        </footer>
      </Form>
    </div>
  );
}

interface DraftProps {
  readonly draft: CollectionDraft;
  readonly setDraft: (draft: CollectionDraft) => void;
}

function Defaults({ draft, setDraft }: DraftProps) {
  return (
    <details class="more">
      <summary>Recall, durability, expiry and ids</summary>
      <div class="columns wide">
        {draft.vectors.some(({ kind }) => kind !== 'sparse') && (
          <TargetRecall
            label="Target recall of searches that do not say"
            none="None"
            hint="The server measures and chooses the width of walks for it. Without one the width is ef_search."
            value={draft.targetRecall}
            change={(targetRecall) => {
              setDraft({ ...draft, targetRecall });
            }}
          />
        )}
        <SelectField
          label="When a write is answered"
          value={draft.durability}
          choices={DURABILITIES}
          change={(durability) => {
            setDraft({ ...draft, durability });
          }}
        />
        <TextField
          label="Field with the time of expiry"
          mono
          value={draft.expireAtKey}
          placeholder="expires_at"
          hint="A date-time, or seconds since 1970. From that time on a point is found by nothing, and then removed."
          change={(expireAtKey) => {
            setDraft({ ...draft, expireAtKey });
          }}
        />
        <SelectField
          label="Ids of points"
          value={draft.ids}
          choices={ID_KINDS}
          change={(ids) => {
            setDraft({ ...draft, ids });
          }}
        />
      </div>
    </details>
  );
}

function Vectors({ draft, setDraft }: DraftProps) {
  const { vectors } = draft;
  return (
    <section>
      <h2>Vectors of a point</h2>
      {vectors.map((vector, index) => (
        <VectorFields
          key={vector.key}
          vector={vector}
          position={index + 1}
          change={(over) => {
            setDraft({ ...draft, vectors: vectors.map((of) => (of === vector ? { ...of, ...over } : of)) });
          }}
          remove={
            vectors.length === 1
              ? undefined
              : () => {
                  setDraft({ ...draft, vectors: vectors.filter((of) => of !== vector) });
                }
          }
        />
      ))}
      <AddVector draft={draft} setDraft={setDraft} />
    </section>
  );
}

/** A further vector makes names necessary, so the unnamed ones get one that can be changed. */
function AddVector({ draft, setDraft }: DraftProps) {
  const add = (over: Partial<VectorDraft>): void => {
    const isDense = over.kind !== 'sparse';
    const named = draft.vectors.map((vector, index) =>
      isDense && vector.kind !== 'sparse' && vector.name === ''
        ? { ...vector, name: `vector-${index + 1}` }
        : vector,
    );
    setDraft({ ...draft, vectors: [...named, newVector(over)] });
  };
  const number = draft.vectors.length + 1;
  return (
    <div class="row">
      <button
        type="button"
        onClick={() => {
          add({ name: `vector-${number}` });
        }}
      >
        Add a dense vector
      </button>
      <button
        type="button"
        onClick={() => {
          add({
            kind: 'sparse',
            name: draft.vectors.some(({ name }) => name === 'text') ? `sparse-${number}` : 'text',
          });
        }}
      >
        Add a sparse vector for keyword search
      </button>
    </div>
  );
}
