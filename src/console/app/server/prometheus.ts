/** Figures of `/metrics`, read from Prometheus' text format. */
import type { Labels, Metric } from './metrics';

export interface Sample<M extends Metric> {
  readonly labels: Labels<M>;
  readonly value: number;
}

/** Says of a sample by its labels whether it counts. */
export type Choice<M extends Metric> = (labels: Labels<M>) => boolean;

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** The route of the console's own look at the metrics, which is not what a user asks about. */
const OWN_ROUTE = '/metrics';

export class Figures {
  readonly #samples = new Map<string, Sample<Metric>[]>();

  constructor(text: string) {
    for (const line of text.split('\n')) {
      const match = line.startsWith('#') ? null : LINE.exec(line);
      if (match === null) continue;
      const [, name = '', labels = '', value = ''] = match;
      const named = Object.fromEntries(
        Array.from(labels.matchAll(LABEL), ([, key = '', of = '']) => [key, of] as const),
      );
      const sample: Sample<Metric> = { labels: named, value: Number(value) };
      const others = this.#samples.get(name);
      if (others === undefined) this.#samples.set(name, [sample]);
      else others.push(sample);
    }
  }

  all<M extends Metric>(name: M): readonly Sample<M>[] {
    // What labels they have is what the table of metrics says of the server.
    return (this.#samples.get(name) ?? []) as unknown as readonly Sample<M>[];
  }

  /** The sum of the chosen samples of a metric, by default of all; undefined where there is none. */
  sum<M extends Metric>(name: M, choose: Choice<M> = () => true): number | undefined {
    const found = this.all(name).filter(({ labels }) => choose(labels));
    return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
  }
}

/** Requests that ended between two looks, by the bound of their duration in seconds. */
function durations(before: Figures, now: Figures): readonly (readonly [bound: number, requests: number])[] {
  const sums = (figures: Figures): Map<number, number> => {
    const byBound = new Map<number, number>();
    for (const { labels, value } of figures.all('kithdb_http_request_duration_seconds_bucket')) {
      if (labels.route === OWN_ROUTE) continue;
      const bound = labels.le === '+Inf' ? Infinity : Number(labels.le);
      byBound.set(bound, (byBound.get(bound) ?? 0) + value);
    }
    return byBound;
  };
  const earlier = sums(before);
  return [...sums(now)]
    .sort(([a], [b]) => a - b)
    .map(([bound, total]) => [bound, total - (earlier.get(bound) ?? 0)] as const);
}

/**
 * The duration in seconds that a share of the requests between two looks did not exceed, taken in proportion inside of its
 * bucket; undefined where there were none.
 */
export function quantile(before: Figures, now: Figures, share: number): number | undefined {
  const buckets = durations(before, now);
  const total = buckets.at(-1)?.[1] ?? 0;
  if (total <= 0) return undefined;
  const rank = share * total;
  let [lower, below] = [0, 0];
  for (const [bound, upTo] of buckets) {
    if (upTo >= rank) {
      return bound === Infinity
        ? lower
        : lower + ((bound - lower) * (rank - below)) / Math.max(upTo - below, 1);
    }
    [lower, below] = [bound, upTo];
  }
  return lower;
}

/** Requests a second between two looks that ended with one of these codes; undefined where the counter began anew. */
export function requestRate(
  before: Figures,
  now: Figures,
  seconds: number,
  isCounted: (code: string) => boolean,
): number | undefined {
  const total = (figures: Figures): number =>
    figures.sum('kithdb_http_requests_total', ({ route, code }) => route !== OWN_ROUTE && isCounted(code)) ??
    0;
  const difference = total(now) - total(before);
  return difference < 0 || seconds <= 0 ? undefined : difference / seconds;
}
