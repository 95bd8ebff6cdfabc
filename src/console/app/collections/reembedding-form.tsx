import { useRef, useState } from 'preact/hooks';
import { Form, SelectField, TextField } from '../parts/form';
import { Failure } from '../parts/notice';
import { RequestView } from '../parts/request-view';
import { valueAt } from '../service/exact-json';
import { useAction } from '../service/loading';
import { result } from '../service/request';
import type { FieldModel } from '../service/types';
import { placeOf } from './reembedding';

/** What is written in the form. */
interface Draft {
  readonly model: string;
  readonly key: string;
  readonly size: string;
  readonly rate: string;
}

const NOTHING: Draft = { model: '', key: '', size: '', rate: '' };

function bodyOf({ model, key, size, rate }: Draft) {
  return {
    model: key === '' ? model : { name: model, text_key: key },
    ...(size !== '' && { size: Number(size) }),
    ...(rate !== '' && { rate: Number(rate) }),
  };
}

interface Props {
  readonly name: string;
  readonly vectors: readonly string[];
  /** The declared models. */
  readonly models: Readonly<Record<string, FieldModel>>;
  readonly begun: (vector: string) => void;
}

/** Begins a re-embedding, after a trial of the model. */
export function ReembeddingForm({ name, vectors, models, begun }: Props) {
  const [chosen, setVector] = useState(vectors[0] ?? '');
  const vector = vectors.includes(chosen) ? chosen : (vectors[0] ?? '');
  const [draft, setDraft] = useState(NOTHING);
  const details = useRef<HTMLDetailsElement>(null);
  const present = valueAt(models, vector);
  const request = { method: 'POST', path: placeOf(name, vector), body: bodyOf(draft) } as const;
  const beginning = useAction(async () => {
    await result('POST', request.path, request.body);
    setDraft(NOTHING);
    if (details.current !== null) details.current.open = false;
    begun(vector);
  });
  const change = (over: Partial<Draft>): void => {
    beginning.forget();
    setDraft({ ...draft, ...over });
  };
  return (
    <details class="more" ref={details}>
      <summary>Change the model of a vector</summary>
      <Form submit={beginning.run} label="Change the model of a vector">
        <p class="hint">
          The server embeds the texts of the payloads with another model, in the background. Searches use the
          old vectors until you commit the new ones.
        </p>
        <div class="columns">
          <SelectField
            label="Vector"
            value={vector}
            choices={vectors.map((one) => ({ value: one, label: one === '' ? 'unnamed' : one }))}
            hint={present === undefined ? 'No model is declared.' : `Its model: ${present.name}.`}
            change={(value) => {
              beginning.forget();
              setVector(value);
            }}
          />
          <DraftFields draft={draft} present={present} change={change} />
        </div>
        <Failure error={beginning.error} />
        <button type="submit" class="primary" disabled={draft.model === '' || beginning.isRunning}>
          {beginning.isRunning ? 'Trying the model …' : 'Begin'}
        </button>
        {draft.model !== '' && <RequestView request={request} />}
      </Form>
    </details>
  );
}

interface FieldsProps {
  readonly draft: Draft;
  readonly present: FieldModel | undefined;
  readonly change: (over: Partial<Draft>) => void;
}

function DraftFields({ draft, present, change }: FieldsProps) {
  return (
    <>
      <TextField
        label="New model"
        value={draft.model}
        required
        hint={
          <>
            One that the setting <code>models</code> of the server has.
          </>
        }
        change={(model) => {
          change({ model });
        }}
      />
      <KeyField draft={draft} present={present} change={change} />
      <TextField
        label="Expected size"
        type="number"
        min={1}
        max={65536}
        value={draft.size}
        placeholder="any"
        hint="If the model makes vectors of another size, nothing begins."
        change={(size) => {
          change({ size });
        }}
      />
      <TextField
        label="Texts a second at most"
        type="number"
        min={1}
        value={draft.rate}
        placeholder="no limit"
        hint="For a model that is shared or paid for."
        change={(rate) => {
          change({ rate });
        }}
      />
    </>
  );
}

function KeyField({ draft, present, change }: FieldsProps) {
  const presentKey = present?.text_key;
  return (
    <TextField
      label="Payload key of the texts"
      value={draft.key}
      mono
      required={presentKey === undefined}
      placeholder={presentKey ?? 'text'}
      hint={
        presentKey === undefined ? (
          'Where each payload has its text.'
        ) : (
          <>
            Empty for <code>{presentKey}</code>, as now.
          </>
        )
      }
      change={(key) => {
        change({ key });
      }}
    />
  );
}
