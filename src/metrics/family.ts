import { AggregatorRegistry, type Registry } from 'prom-client';

/** The labels of a sample, by their names. */
export type Labels = Readonly<Record<string, string>>;

/** A value of a metric, with its labels. */
export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

/** Durations that were counted in buckets, with their labels. */
export interface DurationSample {
  readonly labels?: Labels;
  /** Upper bounds of the buckets, in seconds. */
  readonly bounds: readonly number[];
  /** How many were in each bucket, and above the last bound; not cumulative. */
  readonly counts: ArrayLike<number>;
  /** The sum of all durations, in seconds. */
  readonly seconds: number;
}

/** A metric whose values are read when the metrics are requested. */
export type Family = ValueFamily | DurationFamily;

interface FamilyLine {
  /** By Prometheus' conventions: the unit at the end, `_total` behind the name of a counter. */
  readonly name: string;
  readonly help: string;
}

/**
 * A metric of plain values. The values of labels come from fixed lists; those of `collection` are names of collections, which
 * only metrics have whose number of collections is bounded.
 */
export interface ValueFamily extends FamilyLine {
  readonly type: 'gauge' | 'counter';
  readonly samples: () => Iterable<Sample>;
}

/** A histogram of durations that were counted elsewhere. */
export interface DurationFamily extends FamilyLine {
  readonly type: 'histogram';
  readonly durations: () => Iterable<DurationSample>;
}

/**
 * A registry with these metrics as they are now. The library's own counters and histograms take one value at a time, which
 * would cost a request ten times as much as counting it; what it makes of the metrics of another process, it takes whole.
 */
export function registryOf(families: readonly Family[]): Registry {
  const metrics = families.map((family) => ({
    name: family.name,
    help: family.help,
    type: family.type,
    aggregator: 'first',
    values: family.type === 'histogram' ? [...bucketsOf(family)] : [...valuesOf(family)],
  }));
  return AggregatorRegistry.aggregate([metrics]);
}

/** A value as the library has it in JSON. */
interface JsonValue {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** Where it is another one than that of the metric. */
  readonly metricName?: string;
}

function* valuesOf({ samples }: ValueFamily): Iterable<JsonValue> {
  for (const { labels = {}, value } of samples()) {
    yield { labels, value };
  }
}

function* bucketsOf({ name, durations }: DurationFamily): Iterable<JsonValue> {
  for (const { labels = {}, bounds, counts, seconds } of durations()) {
    let count = 0;
    for (let bucket = 0; bucket < counts.length; bucket += 1) {
      count += counts[bucket] ?? 0;
      yield {
        metricName: `${name}_bucket`,
        labels: { le: bounds[bucket] ?? '+Inf', ...labels },
        value: count,
      };
    }
    yield { metricName: `${name}_sum`, labels, value: seconds };
    yield { metricName: `${name}_count`, labels, value: count };
  }
}

/** A sample for each value, its key in a label. */
export function labelled(label: string, values: Readonly<Record<string, number>>): readonly Sample[] {
  return Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value }));
}
