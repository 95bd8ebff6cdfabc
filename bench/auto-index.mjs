/**
 * `npm run bench:auto-index -- …`: a filter whose index makes itself, beside one that was made by hand, and ingest meanwhile.
 * `crates/bench/src/bin/auto_index_bench.rs` says how.
 */
import { runWithNumbers } from './native.mjs';

await runWithNumbers('bench:auto-index', 'auto_index_bench', {
  points: '1000000',
  ingested: '200000',
  rounds: '5',
});
