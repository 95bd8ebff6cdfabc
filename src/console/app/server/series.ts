/** What the charts show: figures of the last minutes, kept in memory while the console is open. */
import { signal } from '@preact/signals';
import { RequestError, sendRaw, failureOf, noteRefusal } from '../service/request';
import { Figures, quantile, rate } from './prometheus';

/** At the pace of {@link LOOK_MS}, five minutes. */
const MOST_LOOKS = 150;
export const LOOK_MS = 2000;

export type Value = number | null;

/** One look: when, in seconds since 1970, and the values of the charts. */
export interface Look {
  readonly at: number;
  readonly answered: Value;
  readonly refused: Value;
  readonly failed: Value;
  readonly median: Value;
  readonly slowest: Value;
  readonly held: Value;
  readonly engine: Value;
  readonly waiting: Value;
  readonly running: Value;
}

export const looks = signal<readonly Look[]>([]);

let last: { readonly at: number; readonly figures: Figures } | undefined;

/** Reads the metrics once, and adds what happened since the time before. */
export async function look(signalOfAbort: AbortSignal): Promise<Figures> {
  const answer = await sendRaw('GET', '/metrics', undefined, { signal: signalOfAbort });
  if (answer.status !== 200) {
    noteRefusal(answer.status, undefined);
    throw answer.status === 404 ? new RequestError('There are no metrics here', 404) : failureOf(answer);
  }
  const figures = new Figures(answer.text);
  const at = Date.now() / 1000;
  if (last !== undefined) {
    looks.value = [...looks.value, between(last, { at, figures })].slice(-MOST_LOOKS);
  }
  last = { at, figures };
  return figures;
}

function between(before: { at: number; figures: Figures }, now: { at: number; figures: Figures }): Look {
  const seconds = now.at - before.at;
  const requests = (status: string): Value =>
    rate(before.figures, now.figures, seconds, 'kithdb_http_requests_total', { status }) ?? null;
  const milliseconds = (share: number): Value => {
    const value = quantile(before.figures, now.figures, share);
    return value === undefined ? null : value * 1000;
  };
  const mib = (of: string): Value => {
    const value = now.figures.sum('kithdb_memory_held_bytes', { of });
    return value === undefined ? null : value / 2 ** 20;
  };
  const reads = (state: string): number => now.figures.sum('kithdb_reads', { state }) ?? 0;
  return {
    at: now.at,
    answered: requests('2xx'),
    refused: requests('4xx'),
    failed: requests('5xx'),
    median: milliseconds(0.5),
    slowest: milliseconds(0.99),
    held: mib('process'),
    engine: mib('engine'),
    waiting: reads('waiting'),
    running: reads('light') + reads('heavy'),
  };
}
