/** What a series of requests shows of an interruption. */
import { median } from '../median.mjs';

/** @typedef {import('./steady-load.mjs').Sample} Sample */

const isAnswered = ({ status }) => status === 200;

/**
 * Latencies over time, by the moment at which requests were due.
 *
 * @param {Sample[]} samples
 * @param {number} at the moment that counts as 0
 * @param {number} binMs
 * @returns {{ms: number, count: number, failed: number, p50Ms: number | null, maxMs: number | null}[]} of each interval that had
 *   a request: its start; latencies are those of the requests that were answered
 */
export function timeline(samples, at, binMs) {
  const bins = new Map();
  for (const sample of samples) {
    const bin = Math.floor((sample.dueAt - at) / binMs);
    bins.set(bin, [...(bins.get(bin) ?? []), sample]);
  }
  return [...bins]
    .sort(([a], [b]) => a - b)
    .map(([bin, all]) => {
      const latencies = all.filter(isAnswered).map(({ dueAt, answeredAt }) => answeredAt - dueAt);
      return {
        ms: bin * binMs,
        count: all.length,
        failed: all.length - latencies.length,
        p50Ms: latencies.length === 0 ? null : round(median(latencies)),
        maxMs: latencies.length === 0 ? null : round(Math.max(...latencies)),
      };
    });
}

/**
 * For how long requests failed: of each run of failures the time from when its first request was due until the next one was due that
 * succeeded; the sum of these.
 *
 * @param {Sample[]} samples
 */
export function failedMs(samples) {
  const ordered = samples.toSorted((a, b) => a.dueAt - b.dueAt);
  let [sum, since] = [0, null];
  for (const sample of ordered) {
    if (!isAnswered(sample)) {
      since ??= sample.dueAt;
    } else if (since !== null) {
      sum += sample.dueAt - since;
      since = null;
    }
  }
  return since === null ? sum : sum + ordered.at(-1).answeredAt - since;
}

/**
 * The longest time in which nothing was answered with success, from a moment on until the last request was due.
 *
 * @param {Sample[]} samples
 * @param {number} at
 */
export function longestPauseMs(samples, at) {
  const ends = samples
    .filter(isAnswered)
    .map(({ answeredAt }) => answeredAt)
    .sort((a, b) => a - b);
  const last = Math.max(at, ...samples.map(({ dueAt }) => dueAt));
  let [longest, from] = [0, ends.findLast((end) => end <= at) ?? at];
  for (const end of ends.filter((one) => one > at)) {
    longest = Math.max(longest, end - from);
    from = end;
  }
  return Math.max(longest, last - from);
}

/**
 * The longest time from when a request was due to its answer, of those that succeeded.
 *
 * @param {Sample[]} samples
 * @returns {number | null} null where none succeeded
 */
export function slowestMs(samples) {
  const latencies = samples.filter(isAnswered).map(({ dueAt, answeredAt }) => answeredAt - dueAt);
  return latencies.length === 0 ? null : Math.max(...latencies);
}

/** How many of the samples have each status that is no success. */
export function failures(samples) {
  const counts = {};
  for (const { status } of samples.filter((sample) => !isAnswered(sample))) {
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

function round(value) {
  return Number(value.toFixed(2));
}
