import { useEffect, useRef, useState } from 'preact/hooks';
import type { CollectionPart } from '../collections/collection';
import { recallSentence } from '../collections/recall-mark';
import { ConfirmButton } from '../parts/confirm';
import { Form, SelectField, TextField } from '../parts/form';
import { Empty, Failure, Notice } from '../parts/notice';
import { knownFields } from '../points/fields';
import { NO_FILTER, readFilter, type FilterDraft } from '../points/filter';
import { FilterBuilder } from '../points/filter-builder';
import { count, milliseconds, plural } from '../service/format';
import { useAction } from '../service/loading';
import { percent } from '../service/recall';
import { path, result } from '../service/request';
import { vectorFields, type CollectionInfo, type VectorField } from '../service/types';
import { VectorChoice } from '../search/vector-choice';
import { RecallChart } from './chart';
import { measure, MAX_QUERIES, requestsOf, type Measured, type Plan, type Progress } from './measuring';

const QUERIES = [20, 50, 100, MAX_QUERIES].map((value) => ({ value: String(value), label: count(value) }));
const MAX_HITS = 100;

/** What is to be measured, as the page holds it. */
interface Draft {
  readonly using: string;
  readonly limit: string;
  readonly queries: string;
  readonly filter: FilterDraft;
}

/** What searches of the collection find, and how long they take, by the width of their walks. */
export default function RecallPage({ name, info, reload }: CollectionPart) {
  const fields = vectorFields(info).filter(({ kind }) => kind !== 'sparse');
  const [draft, setDraft] = useState<Draft>({
    using: fields[0]?.name ?? '',
    limit: '10',
    queries: '50',
    filter: NO_FILTER,
  });
  const field = fields.find((of) => of.name === draft.using);
  const { progress, measuring, stop } = useMeasuring();
  if (field === undefined) return <Sparse />;
  const { filter, problem } = readFilter(draft.filter);
  const plan: Plan = {
    collection: name,
    field,
    limit: Math.min(MAX_HITS, Math.max(1, Math.round(Number(draft.limit)) || 10)),
    queries: Number(draft.queries),
    filter,
  };
  const start = (): void => {
    measuring.start(plan);
  };
  return (
    <>
      {info.recall_estimate && <Notice kind="plain">{recallSentence(info.recall_estimate)}</Notice>}
      <Form label="What is measured" submit={start}>
        <DraftFields draft={draft} setDraft={setDraft} info={info} fields={fields} />
        <Cost plan={plan} info={info} />
        <div class="form-end">
          <button type="submit" class="primary" disabled={measuring.isRunning || problem !== undefined}>
            {progress === undefined ? 'Measure' : 'Measure again'}
          </button>
          {measuring.isRunning && (
            <button type="button" onClick={stop}>
              Stop
            </button>
          )}
        </div>
      </Form>
      <Failure error={measuring.error} />
      {progress !== undefined && (
        <Results
          name={name}
          progress={progress}
          isRunning={measuring.isRunning}
          isChosen={typeof info.config.hnsw_config['target_recall'] === 'number'}
          changed={reload}
        />
      )}
    </>
  );
}

interface DraftProps {
  readonly draft: Draft;
  readonly setDraft: (draft: Draft) => void;
  readonly info: CollectionInfo;
  readonly fields: readonly VectorField[];
}

function DraftFields({ draft, setDraft, info, fields }: DraftProps) {
  const change = (over: Partial<Draft>): void => {
    setDraft({ ...draft, ...over });
  };
  return (
    <>
      <div class="columns">
        <VectorChoice
          fields={fields}
          value={draft.using}
          change={(using) => {
            change({ using });
          }}
        />
        <SelectField
          label="Points that are searched for"
          value={draft.queries}
          choices={QUERIES}
          hint="At random from the collection; each is left out of what is found for it."
          change={(queries) => {
            change({ queries });
          }}
        />
        <TextField
          label="Hits"
          type="number"
          min={1}
          max={MAX_HITS}
          required
          value={draft.limit}
          hint="The nearest that are to be found."
          change={(limit) => {
            change({ limit });
          }}
        />
      </div>
      <FilterBuilder
        draft={draft.filter}
        change={(filter) => {
          change({ filter });
        }}
        fields={knownFields(info)}
      />
    </>
  );
}

/** What a measurement costs the server. */
function Cost({ plan, info: { points_count: points } }: { plan: Plan; info: CollectionInfo }) {
  return (
    <p class="hint">
      It sends {count(requestsOf(plan))} searches, one after the other. {count(plan.queries)} of them are
      exact: each compares {points === null ? 'all points' : `all ${plural(points, 'point')}`}.
    </p>
  );
}

function Sparse() {
  return (
    <Empty title="There is nothing to measure">
      <p>Searches of sparse vectors are exact. This collection has no others.</p>
    </Empty>
  );
}

/** A measurement, which leaving the page ends. */
function useMeasuring() {
  const [progress, setProgress] = useState<Progress>();
  const abort = useRef<AbortController | undefined>(undefined);
  const wanted = useRef<Plan | undefined>(undefined);
  const action = useAction(async () => {
    const { current: plan } = wanted;
    if (plan === undefined) return;
    const stopper = new AbortController();
    abort.current = stopper;
    try {
      await measure(plan, stopper.signal, setProgress);
    } catch (error) {
      // What was measured until then stays.
      if (!stopper.signal.aborted) throw error;
    }
  });
  const stop = (): void => {
    abort.current?.abort();
  };
  useEffect(() => stop, []);
  const start = (plan: Plan): void => {
    wanted.current = plan;
    setProgress(undefined);
    action.run();
  };
  return { progress, measuring: { ...action, start }, stop };
}

interface ResultsProps {
  readonly name: string;
  readonly progress: Progress;
  readonly isRunning: boolean;
  /** Whether the collection has a target recall, for which the server chooses the width. */
  readonly isChosen: boolean;
  readonly changed: () => void;
}

function Results({ name, progress, isRunning, isChosen, changed }: ResultsProps) {
  const { queries, of, widths, exact, plan } = progress;
  return (
    <section aria-label="What was measured">
      <div class="field">
        <label for="recall-progress">
          {isRunning ? `${count(queries)} of ${plural(of, 'point')}` : `${plural(queries, 'point')} measured`}
          {exact !== undefined && `, exact searches take ${milliseconds(exact)}`}
        </label>
        <progress id="recall-progress" max={of} value={queries} />
      </div>
      {plan !== undefined && !plan.includes('walk') && (
        <Notice kind="plain">
          The plan of such searches is {plan.replaceAll('_', ' ')}, without a walk: there is no graph yet, or
          so little matches that it is faster. The width changes nothing then.
        </Notice>
      )}
      <RecallChart measured={widths} />
      <WidthTable name={name} widths={widths} isChosen={isChosen} changed={changed} />
      <p class="hint">
        {isChosen && 'The collection has a target recall, for which the server chooses the width. '}
        Points of the collection are a little easier to find than what is not stored, since their own links
        lead to their neighbours. The calibration of the server leaves those out.
      </p>
    </section>
  );
}

/** The recall that most are content with. */
const USUAL_TARGET = 0.95;

function WidthTable({
  name,
  widths,
  isChosen,
  changed,
}: Pick<ResultsProps, 'name' | 'isChosen' | 'changed'> & { widths: readonly Measured[] }) {
  const enough = widths.find(({ low }) => low >= USUAL_TARGET)?.ef;
  return (
    <div class="table-frame" tabIndex={0} role="region" aria-label="Recall and latency by width">
      <table>
        <thead>
          <tr>
            <th scope="col">ef</th>
            <th scope="col" class="number">
              Recall
            </th>
            <th scope="col" class="number">
              Interval of 95 %
            </th>
            <th scope="col" class="number">
              Median
            </th>
            <th scope="col" class="number">
              95 % take at most
            </th>
            <th scope="col">
              <span class="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {widths.map((measured) => (
            <WidthRow
              key={measured.ef}
              name={name}
              measured={measured}
              isEnough={measured.ef === enough}
              isChosen={isChosen}
              changed={changed}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function WidthRow({
  name,
  measured: { ef, recall, low, high, median, slow },
  isEnough,
  isChosen,
  changed,
}: Pick<ResultsProps, 'name' | 'isChosen' | 'changed'> & { measured: Measured; isEnough: boolean }) {
  return (
    <tr class={isEnough ? 'chosen' : ''}>
      <th scope="row">{count(ef)}</th>
      <td class="number">{percent(recall)}</td>
      <td class="number">
        {percent(low)} to {percent(high)}
      </td>
      <td class="number">{milliseconds(median)}</td>
      <td class="number">{milliseconds(slow)}</td>
      <td class="actions">
        {!isChosen && (
          <ConfirmButton
            label="Make it the default"
            full={`Make it the default: ${ef}`}
            look="quiet"
            confirm={`Set ef_search to ${ef}`}
            work={async () => {
              await result('PATCH', path('collections', name), { hnsw_config: { ef_search: ef } });
              changed();
            }}
          />
        )}
      </td>
    </tr>
  );
}
