/**
 * `npm run bench:facet -- …`: facets of many points, over all of them and over half. `crates/bench/src/bin/facet_bench.rs` says
 * how.
 */
import { parseArgs } from 'node:util';
import { runNative } from './native.mjs';

const { values } = parseArgs({
  options: {
    points: { type: 'string', default: '1000000' },
    values: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '41' },
    out: { type: 'string' },
  },
});
await runNative(
  'bench:facet',
  'facet_bench',
  () => ['points', 'values', 'rounds'].flatMap((name) => [`--${name}`, values[name]]),
  values.out,
);
