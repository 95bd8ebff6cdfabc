/**
 * `npm run bench:string-ids -- …`: upserts and retrieves of string ids beside UUIDs, and their memory beside integers.
 * `crates/bench/src/bin/string_ids_bench.rs` says how.
 */
import { runWithNumbers } from './native.mjs';

await runWithNumbers('bench:string-ids', 'string_ids_bench', {
  points: '1000000',
  length: '36',
  shared: '8',
  dim: '16',
  batch: '1000',
  rounds: '300',
});
