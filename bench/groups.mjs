/**
 * `npm run bench:groups -- --data FOLDER …`: grouped queries beside the same queries without groups, in one process, through
 * the engine's threads. `crates/bench/src/bin/groups_bench.rs` says how.
 */
import { join } from 'node:path';
import { readFlags, whole } from './flags.mjs';
import { runNative } from './native.mjs';

const USAGE = `npm run bench:groups -- --data FOLDER [flags]

  --data FOLDER         vectors and payloads: a folder with meta.json and payload.jsonl.gz; required
  --queries N           only the first N queries; default: 300
  --rounds N            of which the best of each query counts; default: 7
  --limit N             groups; default: 10
  --size N              hits of a group; default: 3
  --out FILE.json       write everything measured
`;

const flags = readFlags(
  {
    data: { type: 'string' },
    queries: { type: 'string', default: '300' },
    rounds: { type: 'string', default: '7' },
    limit: { type: 'string', default: '10' },
    size: { type: 'string', default: '3' },
    out: { type: 'string' },
  },
  USAGE,
  { queries: whole, rounds: whole, limit: whole, size: whole },
);
await runNative(
  'bench:groups',
  'groups_bench',
  (folder) => [
    ...[flags.data, '--data', join(folder, 'data')],
    ...['queries', 'rounds', 'limit', 'size'].flatMap((name) => [`--${name}`, flags[name]]),
  ],
  flags.out,
);
