/**
 * `npm run bench:sync -- …`: a sync of unchanged points, and one of new points beside an upsert.
 * `crates/bench/src/bin/sync_bench.rs` says how.
 */
import { runWithNumbers } from './native.mjs';

await runWithNumbers('bench:sync', 'sync_bench', {
  entries: '10000',
  others: '90000',
  dim: '384',
  text: '1000',
  rounds: '21',
});
