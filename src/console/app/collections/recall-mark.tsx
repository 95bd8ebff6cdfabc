import { count, date } from '../service/format';
import { percent } from '../service/recall';
import type { RecallEstimate } from '../service/types';

/** The measured recall of a collection, with its interval. */
export function RecallMark({ estimate }: { estimate: RecallEstimate | null | undefined }) {
  if (estimate === null || estimate === undefined) return <span class="faint">–</span>;
  return (
    <>
      {percent(estimate.recall)}
      <span class="interval">{intervalText(estimate)}</span>
    </>
  );
}

/** The interval in which the recall is with a probability of 95 %. */
export function intervalText({ low, high }: RecallEstimate): string {
  return `${percent(low).replace(' %', '')} to ${percent(high)}`;
}

/** What the figure is, in a sentence. */
export function recallSentence(estimate: RecallEstimate): string {
  const when = date(new Date(estimate.at * 1000).toISOString());
  return `Of the ten nearest, searches without a filter and with default parameters find ${percent(estimate.recall)}; between ${percent(estimate.low)} and ${percent(estimate.high)} with a probability of 95 %, from ${count(estimate.samples)} queries compared with exact search on ${when}.`;
}
