/** What a run measured, as tables of text. */
import { table } from './table.mjs';

const who = ({ system, mode }) => (mode ? `${system} ${mode}` : system);

/** Prints everything that {@link file://../index.mjs} writes to `--out`, in tables. */
export function printReport({ set, machine, runs, builds, memory, exact, filtered, churn, ratios }) {
  section(`${set.name}: ${set.rows} × ${set.dims}, ${set.metric}; ${machine.cpu}, ${machine.cores} cores`);
  if (ratios) printRates(runs, builds);
  section(
    'Memory, bytes a row',
    table(memory, {
      system: (line) => line.system,
      'the index': (line) => line.bytes_per_row,
      'with originals in memory': (line) => line.with_originals_bytes_per_row,
      'growth of the process': (line) => line.resident_bytes_per_row,
      parts: (line) =>
        Object.entries(line.components ?? {})
          .map(([part, bytes]) => `${part} ${bytes}`)
          .join(', '),
    }),
  );
  if (ratios) printRatios(ratios, exact);
  if (filtered) {
    section(
      `Filtered searches, ef ${filtered.ef}: latency ÷ that of the same search without a filter`,
      table(filtered.filtered, {
        'matching points': (line) => line.filter,
        share: (line) => `${line.share_percent} %`,
        recall: (line) => Number(line.recall.toFixed(4)),
        'µs, median': (line) => Number(line.filtered_us.toFixed(1)),
        unfiltered: (line) => Number(line.plain_us.toFixed(1)),
        ratio: (line) => Number(line.ratio.toFixed(2)),
      }),
    );
  }
  if (churn) {
    section(
      'Recall of a collection that changes',
      table(
        churn.flatMap(({ runs, ...phase }) => runs.map((run) => ({ ...phase, ...run }))),
        {
          phase: (line) => line.phase,
          ef: (line) => line.ef,
          recall: (line) => Number(line.recall.toFixed(4)),
          'µs/search': (line) => Math.round(line.us_per_search),
          'settled after, s': (line) => Number(line.settled_after_s.toFixed(1)),
          'bytes a point': (line) =>
            Object.entries(line.bytes_per_point)
              .map(([part, bytes]) => `${part.replaceAll('_', ' ')} ${Math.round(bytes)}`)
              .join(', '),
        },
      ),
    );
  }
}

function printRates(runs, builds) {
  section(
    'Searches',
    table(runs, {
      system: who,
      threads: (run) => run.threads,
      ef: (run) => run.ef,
      recall: (run) => run.recall,
      'queries/s': (run) => run.qps,
      'µs/query': (run) => run.us_per_query,
    }),
  );
  section(
    'Builds',
    table(builds, {
      system: (build) => build.system,
      threads: (build) => build.threads,
      'rows/s': (build) => build.rows_per_s,
      'recall at ef 64': (build) => build.recall_at_64,
    }),
  );
}

function printRatios(ratios, exact) {
  if (ratios.search.length) {
    section(
      'Queries per second at the same recall, ours ÷ theirs',
      table(ratios.search, {
        mode: (line) => line.mode,
        recall: (line) => line.recall,
        against: (line) => line.against,
        ours: (line) => line.qps,
        theirs: (line) => line.their_qps,
        ratio: (line) => line.ratio,
        '': (line) => note(line.why),
      }),
    );
    section(
      'Build rate, ours ÷ theirs',
      table(ratios.build, {
        against: (line) => line.against,
        ratio: (line) => line.ratio,
        'our recall at ef 64': (line) => line.recall_at_64,
        theirs: (line) => line.their_recall_at_64,
      }),
    );
  }
  if (ratios.threads.length) {
    section(
      'Several threads ÷ one',
      table(ratios.threads, {
        system: who,
        ef: (line) => line.ef,
        threads: (line) => line.threads,
        ratio: (line) => line.ratio,
      }),
    );
  }
  printExact(exact, ratios.exact);
}

function printExact(exact, shares) {
  const giga = (value) => `${(value / 1e9).toFixed(1)} G`;
  const share =
    shares.scan_of_stream === null
      ? 'from the caches, for the set is small'
      : `${percent(shares.scan_of_stream)} of the stream's ${giga(exact.stream_bytes_per_s)}B/s`;
  const lines = [`one query: ${giga(exact.scan_bytes_per_s)}B/s, ${share}`];
  if (shares.batch_of_peak !== null) {
    lines.push(
      `${exact.batch} queries: ${giga(exact.batch_flops)}FLOP/s, ${percent(shares.batch_of_peak)} of the peak's ${giga(exact.peak_flops)}FLOP/s`,
    );
  }
  section('Exact search, one core', lines.join('\n'));
}

function note(why) {
  if (!why) return '';
  return why.replace('above', 'not reached').replace('below', 'only better ones measured');
}

function percent(share) {
  return `${(share * 100).toFixed(0)} %`;
}

function section(title, text) {
  console.log(text === undefined ? `${title}\n` : `${title}\n\n${text}\n`);
}
