/**
 * `npm run bench:bm25 -- --data FOLDER …`: how many texts a second become sparse vectors of the model `qdrant/bm25`, on one
 * core. `crates/bench/src/bin/bm25_bench.rs` says how.
 */
import { readFlags, whole } from './flags.mjs';
import { runNative } from './native.mjs';

const USAGE = `npm run bench:bm25 -- --data FOLDER [flags]

  --data FOLDER     payloads with descriptions: a folder with meta.json and payload.jsonl.gz; required
  --words N         words of a text; default: 60
  --rounds N        of which the median counts; default: 7
  --out FILE.json   write everything measured
`;

const flags = readFlags(
  {
    data: { type: 'string' },
    words: { type: 'string', default: '60' },
    rounds: { type: 'string', default: '7' },
    out: { type: 'string' },
  },
  USAGE,
  { words: whole, rounds: whole },
);
await runNative(
  'bench:bm25',
  'bm25_bench',
  () => [flags.data, ...['words', 'rounds'].flatMap((name) => [`--${name}`, flags[name]])],
  flags.out,
);
