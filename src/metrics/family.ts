import { Counter, Gauge, type Registry } from 'prom-client';

/** A value of a metric, with its labels. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A metric whose values are read when the metrics are requested. */
export interface Family {
  readonly type: 'gauge' | 'counter';
  /** By Prometheus' conventions: the unit at the end, `_total` behind the name of a counter. */
  readonly name: string;
  readonly help: string;
  /** The names of the labels of its samples. Their values come from fixed lists: never a name that a client chose. */
  readonly labels?: readonly string[];
  readonly samples: () => Iterable<Sample>;
}

/** Adds a metric to a registry. */
export function register(registry: Registry, { type, name, help, labels = [], samples }: Family): void {
  const common = { name, help, labelNames: [...labels], registers: [registry] };
  if (type === 'gauge') {
    new Gauge({
      ...common,
      collect() {
        this.reset();
        for (const { labels, value } of samples()) {
          this.set(labels ?? {}, value);
        }
      },
    });
  } else {
    new Counter({
      ...common,
      collect() {
        this.reset();
        for (const { labels, value } of samples()) {
          this.inc(labels ?? {}, value);
        }
      },
    });
  }
}
