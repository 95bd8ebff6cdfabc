/** Figures of `/metrics`, read from Prometheus' text format. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export class Figures {
  readonly #samples = new Map<string, Sample[]>();

  constructor(text: string) {
    for (const line of text.split('\n')) {
      const match = line.startsWith('#') ? null : LINE.exec(line);
      if (match === null) continue;
      const [, name = '', labels = '', value = ''] = match;
      const named = Object.fromEntries(
        Array.from(labels.matchAll(LABEL), ([, key = '', of = '']) => [key, of] as const),
      );
      const sample: Sample = { name, labels: named, value: Number(value) };
      const others = this.#samples.get(name);
      if (others === undefined) this.#samples.set(name, [sample]);
      else others.push(sample);
    }
  }

  all(name: string): readonly Sample[] {
    return this.#samples.get(name) ?? [];
  }

  /** The sum of the samples of a name that have these labels; undefined where there is none. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const found = this.all(name).filter((sample) =>
      Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    );
    return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
  }
}

/** Requests that ended between two looks, by the bound of their duration in seconds. */
function durations(before: Figures, now: Figures): readonly (readonly [bound: number, requests: number])[] {
  const name = 'kithdb_http_request_duration_seconds_bucket';
  const sums = (figures: Figures): Map<number, number> => {
    const byBound = new Map<number, number>();
    for (const { labels, value } of figures.all(name)) {
      // The console's own look at the metrics is not what a user asks about.
      if (labels['route'] === '/metrics') continue;
      const bound = labels['le'] === '+Inf' ? Infinity : Number(labels['le']);
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

/** What happened a second between two looks; undefined where a counter began anew. */
export function rate(
  before: Figures,
  now: Figures,
  seconds: number,
  name: string,
  labels?: Readonly<Record<string, string>>,
): number | undefined {
  const difference = (now.sum(name, labels) ?? 0) - (before.sum(name, labels) ?? 0);
  return difference < 0 || seconds <= 0 ? undefined : difference / seconds;
}
