import { Figure } from '../collections/overview';
import { JsonView } from '../parts/json-view';
import { compact } from '../service/exact-json';
import { count, milliseconds } from '../service/format';
import { percent } from '../service/recall';
import { idText, type PointId } from '../service/types';

/** What the server says of a search (C13), as far as it is shown; a value that it does not give is left out. */
export interface Explanation {
  readonly plan: string;
  readonly reason?: string | null;
  readonly ef?: unknown;
  readonly target_recall?: unknown;
  readonly ef_chosen_by?: string | null;
  readonly estimated_matches?: unknown;
  readonly matches?: unknown;
  readonly hops?: unknown;
  readonly distances?: unknown;
  readonly scanned?: unknown;
  readonly reranked?: unknown;
  readonly tail_scanned?: unknown;
  readonly indexes_used?: readonly string[];
  readonly indexes_missing?: readonly string[];
  readonly time_us?: Readonly<Record<string, unknown>>;
  readonly why?: readonly Why[];
}

interface Why {
  readonly id: PointId;
  readonly returned: boolean;
  readonly score?: unknown;
  readonly rank?: unknown;
  readonly failed_condition?: string | null;
  readonly lost_by?: string | null;
}

const FIGURES = [
  ['ef', 'ef'],
  ['matches', 'Match the filter'],
  ['estimated_matches', 'Estimated'],
  ['hops', 'Nodes expanded'],
  ['distances', 'Vectors compared'],
  ['scanned', 'Compared by codes'],
  ['reranked', 'Ranked again'],
  ['tail_scanned', 'Outside of the graph'],
] as const;

/** A number, also where exact reading left its text. */
function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'object' && value !== null && 'rawJSON' in value
    ? Number(value.rawJSON)
    : undefined;
}

/** What a search did, where its time went, and what kept points out. */
export function ExplanationView({ explanation }: { explanation: Explanation }) {
  const { plan, reason, indexes_used: used = [], indexes_missing: missing = [], why = [] } = explanation;
  return (
    <section class="card" aria-label="Explanation">
      <h2>Explanation</h2>
      <p>
        <strong>{plan.replaceAll('_', ' ')}</strong>
        {typeof reason === 'string' && reason !== '' && `: ${reason}`}
      </p>
      <TargetLine explanation={explanation} />
      <dl class="figures">
        {FIGURES.map(([key, label]) => {
          const value = numberOf(explanation[key]);
          return (
            value !== undefined && (
              <Figure key={key} label={label}>
                {count(value)}
              </Figure>
            )
          );
        })}
      </dl>
      <Times times={explanation.time_us ?? {}} />
      {used.length > 0 && <p>Field indexes that were used: {used.join(', ')}.</p>}
      {missing.length > 0 && <p>A field index would help on: {missing.join(', ')}.</p>}
      {why.length > 0 && <WhyTable why={why} />}
      <details class="more">
        <summary>The whole explanation</summary>
        <JsonView value={explanation} label="The whole explanation" />
      </details>
    </section>
  );
}

const CHOOSERS: Readonly<Record<string, string>> = {
  calibration: 'from the calibration of this field',
  formula: 'by a formula, since nothing is measured yet',
};

/** How the width of the walk was chosen for a target recall. */
function TargetLine({ explanation }: { explanation: Explanation }) {
  const target = numberOf(explanation.target_recall);
  if (target === undefined) return null;
  const by = CHOOSERS[explanation.ef_chosen_by ?? ''];
  return (
    <p>
      For a recall of {percent(target)}
      {by !== undefined && ` the width was chosen ${by}`}.
    </p>
  );
}

/** The parts of the time, each as a bar. */
function Times({ times }: { times: Readonly<Record<string, unknown>> }) {
  const parts = Object.entries(times).flatMap(([part, value]) => {
    const us = numberOf(value);
    return us === undefined ? [] : [{ part, us }];
  });
  const longest = Math.max(...parts.map(({ us }) => us), 1);
  if (parts.length === 0) return null;
  return (
    <dl class="bars">
      {parts.map(({ part, us }) => (
        <div key={part}>
          <dt>{part.replaceAll('_', ' ')}</dt>
          <dd>
            <span class="bar-of" style={{ width: `${(us / longest) * 100}%` }} aria-hidden="true" />
            <span class="number">{milliseconds(us / 1000)}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function WhyTable({ why }: { why: readonly Why[] }) {
  return (
    <div class="table-frame" tabIndex={0} role="region" aria-label="Why points are missing">
      <table>
        <thead>
          <tr>
            <th scope="col">Point</th>
            <th scope="col">Returned</th>
            <th scope="col" class="number">
              Exact score
            </th>
            <th scope="col" class="number">
              Exact rank
            </th>
            <th scope="col">What kept it out</th>
          </tr>
        </thead>
        <tbody>
          {why.map(({ id, returned, score, rank, failed_condition: failed, lost_by: lost }) => (
            <tr key={compact(id)}>
              <th scope="row" class="mono">
                {idText(id)}
              </th>
              <td>{returned ? 'yes' : 'no'}</td>
              <td class="number">{numberOf(score)?.toFixed(4) ?? ''}</td>
              <td class="number">{numberOf(rank) ?? ''}</td>
              <td>
                {lost?.replaceAll('_', ' ') ?? ''}
                {typeof failed === 'string' && `: ${failed}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
