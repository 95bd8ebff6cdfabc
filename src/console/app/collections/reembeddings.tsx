import { useState } from 'preact/hooks';
import { ConfirmButton } from '../parts/confirm';
import { Form, SelectField, TextField } from '../parts/form';
import { Failure } from '../parts/notice';
import { RequestView } from '../parts/request-view';
import { count, duration } from '../service/format';
import { useAction, useInterval, useLoading } from '../service/loading';
import { path, result } from '../service/request';
import { vectorFields } from '../service/types';
import type { CollectionPart } from './collection';

/** How often the state is asked for. */
const POLL_MS = 1000;

/** How far a re-embedding is, as the server says it. */
interface Report {
  readonly model: { readonly name: string };
  readonly state: 'waiting' | 'running' | 'retrying' | 'ready';
  readonly done: number;
  readonly total: number;
  readonly missing_texts: number;
  readonly eta_seconds: number | null;
  readonly error?: string;
}

/** The vectors that are embedded anew by another model (C19), and the form that begins it. */
export function Reembeddings({ name, info, reload }: CollectionPart) {
  const underWay = Object.keys(info.reembeddings ?? {});
  const others = vectorFields(info).filter(
    (field) => field.kind === 'dense' && !underWay.includes(field.name),
  );
  return (
    <>
      {underWay.map((vector) => (
        <UnderWay key={vector} name={name} vector={vector} reload={reload} />
      ))}
      {others.length > 0 && <Begin name={name} vectors={others.map((field) => field.name)} reload={reload} />}
    </>
  );
}

/** Where the re-embedding of a vector is; the unnamed one has two quotes. */
function placeOf(collection: string, vector: string, ...rest: readonly string[]): string {
  return path('collections', collection, 'vectors', vector === '' ? '""' : vector, 'reembed', ...rest);
}

function UnderWay({ name, vector, reload }: { name: string; vector: string; reload: () => void }) {
  const report = useLoading<Report>(
    (signal) => result('GET', placeOf(name, vector), undefined, { signal }),
    [name, vector],
  );
  useInterval(report.reload, POLL_MS);
  const { value } = report;
  if (value === undefined) return <Failure error={report.error} />;
  const { done, total, missing_texts: missing, error } = value;
  const end = (rest: string, body?: { allow_missing: boolean }) => async (): Promise<void> => {
    await result('POST', placeOf(name, vector, rest), body);
    reload();
  };
  return (
    <section>
      <h3>
        {vector === '' ? 'The unnamed vector' : vector} with {value.model.name}
      </h3>
      <progress value={done} max={Math.max(total, 1)} aria-label={`Embedded texts of ${vector}`} />
      <p>
        {count(done)} of {count(total)} embedded{restOf(value)}
        {missing > 0 && `; ${count(missing)} without a text`}
      </p>
      {error !== undefined && <p class="hint">{error}. It is tried again.</p>}
      <p class="actions">
        {value.state === 'ready' && (
          <ConfirmButton
            label="Commit"
            full={`Commit the new vectors of ${vector}`}
            confirm={missing === 0 ? 'Replace the old vectors' : `Replace them, ${count(missing)} by none`}
            work={end('commit', { allow_missing: missing > 0 })}
            look="primary"
          />
        )}
        <ConfirmButton
          label="Abort"
          full={`Abort the re-embedding of ${vector}`}
          confirm="Drop the new vectors"
          keep="Go on"
          work={end('abort')}
        />
      </p>
    </section>
  );
}

function restOf({ state, eta_seconds: eta }: Report): string {
  if (state === 'waiting') return ', and waiting for a process that embeds';
  if (state === 'ready' || eta === null) return '';
  return `, about ${duration(eta)} left`;
}

function Begin({ name, vectors, reload }: { name: string; vectors: readonly string[]; reload: () => void }) {
  const [chosen, setVector] = useState(vectors[0] ?? '');
  const vector = vectors.includes(chosen) ? chosen : (vectors[0] ?? '');
  const [model, setModel] = useState('');
  const [key, setKey] = useState('');
  const request = {
    method: 'POST',
    path: placeOf(name, vector),
    body: { model: key === '' ? model : { name: model, text_key: key } },
  } as const;
  const beginning = useAction(async () => {
    await result('POST', request.path, request.body);
    reload();
  });
  return (
    <details class="more">
      <summary>Change the model of a vector</summary>
      <Form submit={beginning.run} label="Change the model of a vector">
        <p class="hint">
          The texts of the payloads are embedded in the background. Searches go on with the old vectors until
          the commit.
        </p>
        <SelectField
          label="Vector"
          value={vector}
          choices={vectors.map((one) => ({ value: one, label: one === '' ? 'unnamed' : one }))}
          change={setVector}
        />
        <TextField label="Model" value={model} change={setModel} hint="One of the models of the server." />
        <TextField
          label="Key of the texts"
          value={key}
          change={setKey}
          hint="Empty for where the present model of the vector has them."
          mono
        />
        <Failure error={beginning.error} />
        <button type="submit" class="primary" disabled={model === '' || beginning.isRunning}>
          Begin
        </button>
        {model !== '' && <RequestView request={request} />}
      </Form>
    </details>
  );
}
