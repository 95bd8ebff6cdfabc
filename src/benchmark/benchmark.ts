import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Transport } from '../client/transport';
import { reasonOf } from '../files/explained';
import { closedLoop, type Timing } from './closed-loop';
import { ClusteredVectors } from './vectors';

/** What is measured. */
export interface Benchmark {
  readonly transport: Transport;
  /** An existing collection, which is only searched; a new one is made and removed when absent. */
  readonly collection?: string | undefined;
  /** The named vector that is searched. */
  readonly using?: string | undefined;
  readonly points: number;
  readonly dimensions: number;
  readonly distance: string;
  /** Points of one upsert. */
  readonly batch: number;
  readonly clients: number;
  /** How long searches run. */
  readonly seconds: number;
  readonly limit: number;
  readonly ef?: number | undefined;
  /** Ends it; what was made is removed then too. */
  readonly signal: AbortSignal;
  /** Says what is measured at the moment. */
  readonly says: (what: string) => void;
}

/** What was measured. */
export interface BenchmarkReport {
  readonly collection: string;
  readonly points: number;
  /** The ingest into the collection that was made. */
  readonly ingest?: Timing & { readonly points_per_second: number };
  /** From the end of the ingest until all vectors were indexed. */
  readonly indexed_after_seconds?: number;
  readonly search: Timing;
  /** The part of the exact results that the searches find, over so many queries. */
  readonly recall: { readonly at: number; readonly queries: number; readonly mean: number };
}

/** Queries whose results are compared with exact ones. */
const COMPARED = 100;
/** Vectors of an existing collection that are searched for. */
const SAMPLED = 256;
/** Indexing takes no longer than this. */
const INDEXED_MS = 30 * 60_000;
const LOOK_MS = 100;

/** Measures ingest and searches of a collection of its own, or searches of an existing one. */
export async function runBenchmark(benchmark: Benchmark): Promise<BenchmarkReport> {
  return benchmark.collection === undefined
    ? measureOwn(benchmark)
    : measureExisting(benchmark, benchmark.collection);
}

async function measureOwn(benchmark: Benchmark): Promise<BenchmarkReport> {
  const { transport, dimensions, distance, points, batch, clients, signal, says } = benchmark;
  const collection = `kithdb-bench-${randomBytes(6).toString('hex')}`;
  const vectors = new ClusteredVectors(dimensions);
  await transport.execute({
    operation: 'create_collection',
    collection,
    body: { vectors: { size: dimensions, distance } },
  });
  const measureIt = async (): Promise<BenchmarkReport> => {
    says(`ingest of ${points} points`);
    const timing = await closedLoop({
      clients,
      signal,
      goesOn: (number) => number * batch < points,
      send: (number) => {
        const from = number * batch;
        const ids = Array.from({ length: Math.min(batch, points - from) }, (_, at) => from + at);
        const body = { points: ids.map((id) => ({ id, vector: vectors.at(id) })) };
        return transport.execute({ operation: 'upsert_points', collection, body });
      },
    });
    const ingest = { ...timing, points_per_second: points / timing.seconds };
    says('indexing');
    const indexed_after_seconds = await untilIndexed(transport, collection, signal);
    const queries = Array.from({ length: SAMPLED }, (_, number) => vectors.at(number, 1));
    const measured = await measure(benchmark, collection, queries);
    return { collection, points, ingest, indexed_after_seconds, ...measured };
  };
  const [outcome] = await Promise.allSettled([measureIt()]);
  says('removal');
  await remove(transport, collection, outcome.status === 'rejected' ? outcome.reason : undefined);
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

/** Removes what was made; a failure names it, with the failure before it. */
async function remove(transport: Transport, collection: string, before: unknown): Promise<void> {
  try {
    await transport.execute({ operation: 'delete_collection', collection });
  } catch (error) {
    const first = before === undefined ? '' : `${reasonOf(before)}. `;
    throw new BenchmarkError(
      `${first}The collection ${collection} could not be removed: ${reasonOf(error)}`,
      {
        cause: error,
      },
    );
  }
}

/** Seconds until every vector is in a graph, or needs none. */
async function untilIndexed(transport: Transport, collection: string, signal: AbortSignal): Promise<number> {
  const started = performance.now();
  for (;;) {
    signal.throwIfAborted();
    const { result } = await transport.execute({ operation: 'collection_info', collection });
    if ((result as { readonly status: string }).status === 'green') break;
    if (performance.now() - started > INDEXED_MS) {
      throw new Error(`${collection} was not indexed within ${INDEXED_MS / 60_000} minutes`);
    }
    await sleep(LOOK_MS);
  }
  return (performance.now() - started) / 1000;
}

async function measureExisting(benchmark: Benchmark, collection: string): Promise<BenchmarkReport> {
  const { transport, using } = benchmark;
  const info = await transport.execute({ operation: 'collection_info', collection });
  const { points_count: points } = info.result as { readonly points_count: number };
  const page = await transport.execute({
    operation: 'scroll',
    collection,
    body: { limit: SAMPLED, with_payload: false, with_vector: using === undefined ? true : [using] },
  });
  const sampled = (page.result as { readonly points: readonly { readonly vector: unknown }[] }).points;
  const queries = sampled
    .map(({ vector }) => vectorOf(vector, using))
    .filter((vector) => vector !== undefined);
  if (queries.length === 0) {
    throw new BenchmarkError(
      using === undefined
        ? `${collection} has no points with an unnamed vector: name one of its vectors with --using`
        : `${collection} has no points with the vector ${using}`,
    );
  }
  return { collection, points, ...(await measure(benchmark, collection, queries)) };
}

/** A collection that has nothing to search for, or that could not be removed: the message says it. */
export class BenchmarkError extends Error {
  override readonly name = 'BenchmarkError';
}

/** The vector of a point that is searched for: the named one, or the only one. */
function vectorOf(vector: unknown, using: string | undefined): unknown {
  if (using !== undefined) {
    return (vector as Readonly<Record<string, unknown>> | null)?.[using];
  }
  return Array.isArray(vector) ? vector : undefined;
}

interface Hit {
  readonly id: number | bigint | string;
}

async function measure(
  { transport, using, clients, seconds, limit, ef, signal, says }: Benchmark,
  collection: string,
  queries: readonly unknown[],
): Promise<Pick<BenchmarkReport, 'search' | 'recall'>> {
  const find = async (number: number, params: object): Promise<readonly Hit[]> => {
    const query = queries[number % queries.length];
    const body = { query, limit, params, with_payload: false, ...(using !== undefined && { using }) };
    const { result } = await transport.execute({ operation: 'query', collection, body });
    return (result as { readonly points: readonly Hit[] }).points;
  };
  const params = ef === undefined ? {} : { hnsw_ef: ef };
  says(`searches for ${seconds} s`);
  const until = performance.now() + seconds * 1000;
  const goesOn = (): boolean => performance.now() < until;
  const search = await closedLoop({ clients, signal, goesOn, send: (number) => find(number, params) });
  says('recall');
  let found = 0;
  let there = 0;
  const compared = Math.min(COMPARED, queries.length);
  for (let number = 0; number < compared; number++) {
    signal.throwIfAborted();
    const exact = await find(number, { exact: true });
    const ids = new Set((await find(number, params)).map(({ id }) => String(id)));
    there += exact.length;
    found += exact.filter(({ id }) => ids.has(String(id))).length;
  }
  return { search, recall: { at: limit, queries: compared, mean: there === 0 ? 1 : found / there } };
}
