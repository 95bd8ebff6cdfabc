import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SCRIPT = join(__dirname, '..', '..', 'scripts', 'contract-coverage.mjs');

/** Runs the script over a tree. */
function coverage(...args: string[]): { status: number | null; lines: string[] } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return { status, lines: stdout.trimEnd().split('\n') };
}

it('every rule of the contract is cited by a test', () => {
  const { status, lines } = coverage();
  expect([status, lines.filter((line) => /^(No test|The contract)/.test(line))]).toEqual([0, []]);
});

it('a rule without a test and a citation of no rule are failures', () => {
  const tree = mkdtempSync(join(tmpdir(), 'kithdb-coverage-'));
  mkdirSync(join(tree, 'test'));
  mkdirSync(join(tree, 'crates'));
  // Written so that this file itself cites nothing.
  const rules = ['1.1', '2.7', '9.9'].map((rule) => `C${rule}`);
  writeFileSync(join(tree, 'test', 'a.test.ts'), `it('${rules.join(', ')} hold', () => undefined);`);
  writeFileSync(join(tree, 'crates', 'a.rs'), '#[test]\nfn names_are_checked_c2_2_c7() {}\n');
  const { status, lines } = coverage(tree);
  rmSync(tree, { recursive: true });
  expect(status).toBe(1);
  expect(lines).toContain(`${rules[0] ?? ''}  1 test`);
  expect(lines).toContain('    crates/a.rs: names_are_checked_c2_2_c7');
  expect(lines.at(-1)).toBe(
    `The contract has no ${rules[2] ?? ''} in test/a.test.ts: ${rules.join(', ')} hold`,
  );
  expect(lines.at(-2)).toMatch(/^No test cites C1\.2, .*C2\.1, C2\.3, .*C11\.6, C12, .*C16, .*C18, .*C25\b/);
  expect(lines.at(-2)).not.toMatch(/C2\.2|C2\.7|C7/);
});
