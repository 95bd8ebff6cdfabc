/** Recall and latency by the width of walks: points of the collection are searched for exactly, and at each width. */
import type { JsonObject } from '../service/exact-json';
import { pointsPath, send } from '../service/request';
import type { Point, PointId, VectorField } from '../service/types';
import { compact } from '../service/exact-json';

/** The widths that are measured, from the number of hits on. */
const WIDTHS = [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512];
/** Few enough for a page that waits for one after the other. */
export const MAX_QUERIES = 200;

export interface Plan {
  readonly collection: string;
  readonly field: VectorField;
  /** Hits of a search. */
  readonly limit: number;
  readonly queries: number;
  readonly filter: JsonObject | undefined;
}

/** What was measured at a width so far. */
export interface Measured {
  readonly ef: number;
  readonly recall: number;
  /** The interval of 95 % of the mean. */
  readonly low: number;
  readonly high: number;
  /** In the server, in milliseconds. */
  readonly median: number;
  readonly slow: number;
}

export interface Progress {
  readonly queries: number;
  readonly of: number;
  readonly widths: readonly Measured[];
  /** Median of the exact searches, in milliseconds. */
  readonly exact: number | undefined;
  /** What the server does with such a search: `walk`, `scan` and so on. */
  readonly plan: string | undefined;
}

/** The widths of a plan: a walk is at least as wide as there are hits. */
export function widthsOf(limit: number): readonly number[] {
  const above = WIDTHS.filter((width) => width > limit);
  return [limit, ...above];
}

/** The requests of a plan: the sample, the explanation, and for each query one exact search and one at each width. */
export function requestsOf({ limit, queries }: Pick<Plan, 'limit' | 'queries'>): number {
  return 2 + queries * (1 + widthsOf(limit).length);
}

interface Found {
  readonly points: readonly Point[];
  readonly ms: number;
  readonly plan: string | undefined;
}

async function search(plan: Plan, id: PointId, params: JsonObject, signal: AbortSignal): Promise<Found> {
  const { collection, field, limit, filter } = plan;
  const body = {
    query: id,
    limit,
    params,
    ...(field.name !== '' && { using: field.name }),
    ...(filter !== undefined && { filter }),
  };
  const answer = (await send('POST', pointsPath(collection, 'query'), body, { signal })) as {
    readonly time: number;
    readonly result: { readonly points: readonly Point[] };
    readonly explain?: { readonly plan: string };
  };
  return { points: answer.result.points, ms: answer.time * 1000, plan: answer.explain?.plan };
}

async function sample(plan: Plan, signal: AbortSignal): Promise<readonly PointId[]> {
  const { collection, field, queries, filter } = plan;
  const has = { has_vector: field.name };
  const within = filter === undefined ? { must: [has] } : { must: [has, filter] };
  const body = { query: { sample: 'random' }, limit: queries, with_payload: false, filter: within };
  // Ids that JavaScript's numbers cannot hold stay as they are.
  const answer = (await send('POST', pointsPath(collection, 'query'), body, { signal, exact: true })) as {
    readonly result: { readonly points: readonly Point[] };
  };
  return answer.result.points.map(({ id }) => id);
}

/** The share of the true nearest that were found. A hit that is as near as the farthest of them is as good. */
function recallOf(exact: readonly Point[], found: readonly Point[], isLowerNearer: boolean): number {
  if (exact.length === 0) return 1;
  const nearest = new Set(exact.map(({ id }) => compact(id)));
  const last = Number(exact.at(-1)?.score);
  const isGood = ({ id, score }: Point): boolean =>
    nearest.has(compact(id)) || (isLowerNearer ? Number(score) <= last : Number(score) >= last);
  return Math.min(1, found.filter(isGood).length / exact.length);
}

/** Measures query by query, and reports after each. @throws Error as the server refuses a request. */
export async function measure(
  plan: Plan,
  signal: AbortSignal,
  report: (progress: Progress) => void,
): Promise<void> {
  const ids = await sample(plan, signal);
  const [first] = ids;
  if (first === undefined) throw new Error('No point that matches has this vector');
  const { plan: kind } = await search(plan, first, { explain: true, hnsw_ef: plan.limit }, signal);
  const isLowerNearer = ['Euclid', 'Manhattan'].includes(plan.field.params?.distance ?? '');
  const widths = widthsOf(plan.limit).map((ef) => ({ ef, recalls: [] as number[], times: [] as number[] }));
  const exactTimes: number[] = [];
  for (const [at, id] of ids.entries()) {
    const exact = await search(plan, id, { exact: true }, signal);
    exactTimes.push(exact.ms);
    for (const { ef, recalls, times } of widths) {
      const found = await search(plan, id, { hnsw_ef: ef }, signal);
      recalls.push(recallOf(exact.points, found.points, isLowerNearer));
      times.push(found.ms);
    }
    report({
      queries: at + 1,
      of: ids.length,
      widths: widths.map(({ ef, recalls, times }) => ({
        ef,
        ...meanOf(recalls),
        median: quantile(times, 0.5),
        slow: quantile(times, 0.95),
      })),
      exact: quantile(exactTimes, 0.5),
      plan: kind,
    });
  }
}

/** The mean and its interval of 95 %, by the normal distribution. */
function meanOf(values: readonly number[]): { recall: number; low: number; high: number } {
  const recall = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - recall) ** 2, 0);
  const error = values.length < 2 ? 1 : Math.sqrt(squares / (values.length - 1) / values.length);
  return { recall, low: Math.max(0, recall - 1.96 * error), high: Math.min(1, recall + 1.96 * error) };
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}
