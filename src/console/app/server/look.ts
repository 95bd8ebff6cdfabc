/** What the charts show of one moment, made of the metrics then and a little earlier. */
import { quantile, requestRate, type Figures } from './prometheus';

export type Value = number | null;

/** One look: when, in seconds since 1970, and the values of the charts. */
export interface Look {
  readonly at: number;
  /** Requests a second: with a status below 400, with 4xx, with 5xx, and given up by their clients. */
  readonly answered: Value;
  readonly refused: Value;
  readonly failed: Value;
  readonly aborted: Value;
  /** Milliseconds. */
  readonly median: Value;
  readonly slowest: Value;
  /** MiB. */
  readonly held: Value;
  readonly engine: Value;
  readonly log: Value;
  readonly data: Value;
  /** Reads. */
  readonly waiting: Value;
  readonly running: Value;
  /** Rows of vectors, and points, that no index has yet. */
  readonly dense: Value;
  readonly sparse: Value;
  readonly field: Value;
}

/** Metrics, and when they were read. */
export interface Reading {
  readonly at: number;
  readonly figures: Figures;
}

const ABORTED = 'aborted';

export function lookBetween(before: Reading, now: Reading): Look {
  const { figures } = now;
  const requests = (isCounted: (code: string) => boolean): Value =>
    requestRate(before.figures, figures, now.at - before.at, isCounted) ?? null;
  const milliseconds = (share: number): Value => {
    const value = quantile(before.figures, figures, share);
    return value === undefined ? null : value * 1000;
  };
  const backlog = (wanted: 'dense' | 'sparse' | 'field'): Value =>
    figures.sum('kithdb_index_backlog', ({ kind }) => kind === wanted) ?? null;
  return {
    at: now.at,
    answered: requests((code) => Number(code) < 400),
    refused: requests((code) => code.startsWith('4')),
    failed: requests((code) => code.startsWith('5')),
    aborted: requests((code) => code === ABORTED),
    median: milliseconds(0.5),
    slowest: milliseconds(0.99),
    held: mib(figures.sum('kithdb_memory_held_bytes', ({ of }) => of === 'process')),
    engine: mib(figures.sum('kithdb_memory_held_bytes', ({ of }) => of === 'engine')),
    log: mib(figures.sum('kithdb_disk_bytes', ({ component }) => component === 'log')),
    data: mib(figures.sum('kithdb_disk_bytes', ({ component }) => component === 'data')),
    waiting: figures.sum('kithdb_reads', ({ state }) => state === 'waiting') ?? null,
    running: figures.sum('kithdb_reads', ({ state }) => state !== 'waiting') ?? null,
    dense: backlog('dense'),
    sparse: backlog('sparse'),
    field: backlog('field'),
  };
}

function mib(bytes: number | undefined): Value {
  return bytes === undefined ? null : bytes / 2 ** 20;
}
