import type { BenchmarkReport } from '../benchmark/benchmark';
import type { Timing } from '../benchmark/closed-loop';
import type { Config, VerbFlag } from '../config';
import { CommandError, EXIT, type Console, type ExitCode } from './console';
import { numberFlag, optionalFlag } from './flags';
import { URL_FLAG, withService } from './service';
import { tableOf } from './table';
import type { GivenFlags } from './verbs';

const DISTANCES = ['Cosine', 'Euclid', 'Dot', 'Manhattan'];

/** The flags of `kithdb bench`. */
export const BENCH_FLAGS: readonly VerbFlag[] = [
  URL_FLAG,
  {
    name: 'collection',
    placeholder: 'NAME',
    about:
      'Searches this collection, which does not change; without it one of its own is made, filled, searched and removed. It may also stand behind the verb.',
  },
  { name: 'using', placeholder: 'FIELD', about: 'The named vector of --collection that is searched.' },
  { name: 'points', placeholder: 'N', about: 'Points of the own collection, 20000 otherwise.' },
  { name: 'dimensions', placeholder: 'N', about: 'Dimensions of its vectors, 256 otherwise.' },
  { name: 'distance', placeholder: 'DISTANCE', about: `${DISTANCES.join(', ')}; Cosine otherwise.` },
  { name: 'batch', placeholder: 'N', about: 'Points of one upsert, 200 otherwise.' },
  {
    name: 'clients',
    placeholder: 'N',
    about: 'Clients, each of which waits for an answer before it sends the next request; 4 otherwise.',
  },
  { name: 'seconds', placeholder: 'N', about: 'How long it searches, 10 otherwise.' },
  { name: 'limit', placeholder: 'N', about: 'Results of a search, 10 otherwise.' },
  { name: 'ef', placeholder: 'N', about: 'hnsw_ef of the searches; that of the collection otherwise.' },
  { name: 'json', about: 'Prints the figures as JSON.' },
];

/** `kithdb bench`: rates, latencies and recall of a small closed loop. */
export async function bench(config: Config, console: Console, flags: GivenFlags): Promise<ExitCode> {
  const collection = optionalFlag(flags, 'collection');
  const asked = sizesOf(flags, collection);
  const { runBenchmark, BenchmarkError } = await import('../benchmark/benchmark.js');
  const stop = new AbortController();
  const interrupt = (): void => {
    stop.abort(new CommandError('Interrupted: nothing is left of it'));
  };
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    const report = await withService(config, flags, (transport) =>
      runBenchmark({
        ...asked,
        transport,
        collection,
        using: optionalFlag(flags, 'using'),
        signal: stop.signal,
        says: (what) => {
          if (console.stderr.isTTY === true) console.stderr.write(`${what} …\n`);
        },
      }),
    );
    console.stdout.write(flags.has('json') ? `${JSON.stringify(report, undefined, 2)}\n` : textOf(report));
    return EXIT.success;
  } catch (error) {
    throw error instanceof BenchmarkError ? new CommandError(error.message) : error;
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

/** Flags that are about the own collection only. */
const OF_OWN = ['points', 'dimensions', 'distance', 'batch'];

function sizesOf(flags: GivenFlags, collection: string | undefined) {
  const surplus = collection === undefined ? undefined : OF_OWN.find((name) => flags.has(name));
  if (surplus !== undefined) {
    throw new CommandError(
      `--${surplus} is for a collection of its own: --collection is only searched`,
      EXIT.usage,
    );
  }
  if (collection === undefined && flags.has('using')) {
    throw new CommandError('--using is for --collection', EXIT.usage);
  }
  const distance = optionalFlag(flags, 'distance') ?? 'Cosine';
  if (!DISTANCES.includes(distance)) {
    throw new CommandError(`--distance must be one of ${DISTANCES.join(', ')}, not ${distance}`, EXIT.usage);
  }
  const number = (name: string, fallback: number, highest: number): number =>
    numberFlag(flags, name, { lowest: 1, highest, fallback });
  return {
    distance,
    points: number('points', 20_000, 100_000_000),
    dimensions: number('dimensions', 256, 65_536),
    batch: number('batch', 200, 10_000),
    clients: number('clients', 4, 1024),
    seconds: number('seconds', 10, 86_400),
    limit: number('limit', 10, 10_000),
    ef: flags.has('ef') ? number('ef', 1, 1_000_000) : undefined,
  };
}

function textOf({
  collection,
  points,
  ingest,
  indexed_after_seconds: indexed,
  search,
  recall,
}: BenchmarkReport): string {
  const head = ['', 'REQUESTS', 'PER SECOND', 'P50 MS', 'P95 MS', 'P99 MS'];
  const rows = [
    head,
    ...(ingest === undefined ? [] : [['ingest', ...figuresOf(ingest)]]),
    ['search', ...figuresOf(search)],
  ];
  const lines = [
    ...(ingest === undefined ? [] : [`ingest: ${Math.round(ingest.points_per_second)} points a second`]),
    ...(indexed === undefined ? [] : [`indexed ${indexed.toFixed(1)} s after the ingest`]),
    `recall at ${recall.at}: ${recall.mean.toFixed(4)}, against exact searches for ${recall.queries} queries`,
  ];
  const what = ingest === undefined ? collection : 'a collection of its own, which is removed';
  return `${points} points in ${what}\n\n${tableOf(rows)}\n${lines.join('\n')}\n`;
}

function figuresOf({
  requests,
  per_second: rate,
  p50_ms: p50,
  p95_ms: p95,
  p99_ms: p99,
}: Timing): readonly string[] {
  return [String(requests), rate.toFixed(0), ...[p50, p95, p99].map((ms) => ms.toFixed(2))];
}
