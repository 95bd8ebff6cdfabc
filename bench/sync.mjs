/**
 * `npm run bench:sync -- …`: a sync of unchanged points, and one of new points beside an upsert.
 * `crates/bench/src/bin/sync_bench.rs` says how.
 */
import { parseArgs } from 'node:util';
import { runNative } from './native.mjs';

const { values } = parseArgs({
  options: {
    entries: { type: 'string', default: '10000' },
    others: { type: 'string', default: '90000' },
    dim: { type: 'string', default: '384' },
    text: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '21' },
    out: { type: 'string' },
  },
});
await runNative(
  'bench:sync',
  'sync_bench',
  () => ['entries', 'others', 'dim', 'text', 'rounds'].flatMap((name) => [`--${name}`, values[name]]),
  values.out,
);
