/** Benchmarks that are programs of `crates/bench`: compiled, run, and their report kept with the machine that it is of. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compiled } from './compiled.mjs';
import { machine } from './machine.mjs';

/**
 * Runs a program, which prints its figures and writes them as JSON.
 *
 * @param {string} script the npm script
 * @param {string} program of `crates/bench`
 * @param {(folder: string) => string[]} argumentsIn its arguments but `--json`; the folder is removed afterwards
 * @param {string | undefined} out the file that gets the report
 */
export async function runNative(script, program, argumentsIn, out) {
  // Before the work: the commit of the tree may change meanwhile.
  const started = machine(script);
  const folder = mkdtempSync(join(tmpdir(), `kithdb-${program.replaceAll('_', '-')}-`));
  try {
    const json = join(folder, 'report.json');
    const args = [...argumentsIn(folder), '--json', json];
    const { status } = spawnSync(await compiled('kithdb-bench', program), args, { stdio: 'inherit' });
    if (status !== 0) throw new Error(`${program} ended with ${status}`);
    const report = { machine: started, ...JSON.parse(readFileSync(json, 'utf8')) };
    if (out) writeFileSync(out, `${JSON.stringify(report, null, 2)}\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Runs a program whose flags are numbers, with those of the command line and `--out FILE`.
 *
 * @param {string} script the npm script
 * @param {string} program of `crates/bench`
 * @param {Record<string, string>} defaults by the name of the flag
 */
export async function runWithNumbers(script, program, defaults) {
  const numbers = Object.entries(defaults).map(([name, value]) => [name, { type: 'string', default: value }]);
  const { values } = parseArgs({ options: { ...Object.fromEntries(numbers), out: { type: 'string' } } });
  const args = Object.keys(defaults).flatMap((name) => [`--${name}`, values[name]]);
  await runNative(script, program, () => args, values.out);
}
