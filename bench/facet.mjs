/**
 * `npm run bench:facet -- …`: facets of many points, over all of them and over half. `crates/bench/src/bin/facet_bench.rs` says
 * how.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compiled } from './compiled.mjs';
import { machine } from './machine.mjs';

const { values } = parseArgs({
  options: {
    points: { type: 'string', default: '1000000' },
    values: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '41' },
    out: { type: 'string' },
  },
});
// Before the work: the commit of the tree may change meanwhile.
const started = machine('bench:facet');
const folder = mkdtempSync(join(tmpdir(), 'kithdb-bench-facet-'));
try {
  const json = join(folder, 'facet.json');
  const numbers = ['points', 'values', 'rounds'].flatMap((name) => [`--${name}`, values[name]]);
  const args = ['--json', json, ...numbers];
  const { status } = spawnSync(await compiled('kithdb-bench', 'facet_bench'), args, { stdio: 'inherit' });
  if (status !== 0) throw new Error(`facet_bench ended with ${status}`);
  const report = { machine: started, ...JSON.parse(readFileSync(json, 'utf8')) };
  if (values.out) writeFileSync(values.out, `${JSON.stringify(report, null, 2)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
