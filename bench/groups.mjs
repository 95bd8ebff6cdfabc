/**
 * `npm run bench:groups -- --data FOLDER …`: grouped queries beside the same queries without groups, in one process, through
 * the engine's threads. `crates/bench/src/bin/groups_bench.rs` says how.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compiled } from './compiled.mjs';
import { readFlags, whole } from './flags.mjs';
import { machine } from './machine.mjs';

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
// Before the work: the commit of the tree may change meanwhile.
const started = machine('bench:groups');
const folder = mkdtempSync(join(tmpdir(), 'kithdb-bench-groups-'));
try {
  const json = join(folder, 'groups.json');
  const numbers = ['queries', 'rounds', 'limit', 'size'].flatMap((name) => [`--${name}`, flags[name]]);
  const args = [flags.data, '--data', join(folder, 'data'), '--json', json, ...numbers];
  const { status } = spawnSync(await compiled('kithdb-bench', 'groups_bench'), args, { stdio: 'inherit' });
  if (status !== 0) throw new Error(`groups_bench ended with ${status}`);
  const report = { machine: started, ...JSON.parse(readFileSync(json, 'utf8')) };
  if (flags.out) writeFileSync(flags.out, `${JSON.stringify(report, null, 2)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
