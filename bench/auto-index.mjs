/**
 * `npm run bench:auto-index -- …`: a filter whose index makes itself, beside one that was made by hand, and ingest meanwhile.
 * `crates/bench/src/bin/auto_index_bench.rs` says how.
 */
import { parseArgs } from 'node:util';
import { runNative } from './native.mjs';

const { values } = parseArgs({
  options: {
    points: { type: 'string', default: '1000000' },
    ingested: { type: 'string', default: '200000' },
    rounds: { type: 'string', default: '5' },
    out: { type: 'string' },
  },
});
await runNative(
  'bench:auto-index',
  'auto_index_bench',
  () => ['points', 'ingested', 'rounds'].flatMap((name) => [`--${name}`, values[name]]),
  values.out,
);
