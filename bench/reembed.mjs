/**
 * `npm run bench:reembed -- …`: searches while a vector is embedded anew, and recall afterwards beside a fresh build.
 * `crates/bench/src/bin/reembed_bench.rs` says how.
 */
import { runWithNumbers } from './native.mjs';

await runWithNumbers('bench:reembed', 'reembed_bench', {
  points: '1000000',
  dim: '128',
  seconds: '30',
  queries: '200',
});
