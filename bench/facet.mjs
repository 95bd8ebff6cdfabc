/**
 * `npm run bench:facet -- …`: facets of many points, over all of them and over half. `crates/bench/src/bin/facet_bench.rs` says
 * how.
 */
import { runWithNumbers } from './native.mjs';

await runWithNumbers('bench:facet', 'facet_bench', { points: '1000000', values: '1000', rounds: '41' });
