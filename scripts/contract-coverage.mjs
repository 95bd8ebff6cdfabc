/**
 * `node scripts/contract-coverage.mjs [folder]`: which tests cite which rule of the HTTP contract. Reads the names of
 * the tests under `test/` (jest: `C3.4 …`) and `crates/` (Rust: `…_c3_4`), prints them by rule, and fails when a rule
 * has none.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';

/** How many numbered rules each section of the contract has; a section without is one rule. */
const SECTIONS = {
  C1: 12,
  C2: 7,
  C3: 16,
  C4: 8,
  C5: 14,
  C6: 10,
  C7: 0,
  C8: 0,
  C9: 5,
  C10: 2,
  C11: 6,
  C12: 0,
  C13: 0,
  C14: 0,
  C15: 0,
  C16: 0,
  C17: 0,
  C18: 0,
  C19: 0,
  C20: 0,
  C21: 0,
  C22: 0,
  C23: 0,
  C24: 0,
  C25: 0,
  C26: 0,
  C30: 13,
};

const root = resolve(process.argv[2] ?? join(import.meta.dirname, '..'));
const found = new Map(allRules().map((rule) => [rule, []]));
const unknown = [];

for (const { file, title, rules } of [...jestTests(), ...rustTests()]) {
  for (const rule of rules) {
    // `C5` alone is what the section says before its rules.
    const known = found.get(rule) ?? (rule in SECTIONS ? [] : undefined);
    if (known === undefined) unknown.push(`${rule} in ${file}: ${title}`);
    else known.push(`${file}: ${title}`);
  }
}

const missing = [];
for (const [rule, tests] of found) {
  console.log(`${rule}  ${tests.length} ${tests.length === 1 ? 'test' : 'tests'}`);
  for (const test of tests) console.log(`    ${test}`);
  if (tests.length === 0) missing.push(rule);
}
if (missing.length > 0) console.log(`No test cites ${missing.join(', ')}`);
for (const line of unknown) console.log(`The contract has no ${line}`);
process.exitCode = missing.length + unknown.length > 0 ? 1 : 0;

function allRules() {
  return Object.entries(SECTIONS).flatMap(([section, count]) =>
    count === 0 ? [section] : Array.from({ length: count }, (_, position) => `${section}.${position + 1}`),
  );
}

/** Titles in `it`, `test` and `describe`, those behind an `each` table included; a table's own titles count too. */
function* jestTests() {
  const call =
    /(?:\b(?:it|test|describe)|\))\(\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|`((?:\\.|[^`\\])*)`)\s*,/g;
  const row = /^\s*(?:\.\.\.)?\[\s*'(C\d+(?:\.\d+)?)'\s*,/gm;
  for (const file of filesUnder('test', '.test.ts')) {
    const source = readFileSync(join(root, file), 'utf8');
    const titles = [...source.matchAll(call)].map(([, ...titles]) =>
      titles.find((title) => title !== undefined),
    );
    for (const title of [...titles, ...[...source.matchAll(row)].map(([, title]) => title)]) {
      const rules = [...title.matchAll(/\bC\d+(?:\.\d+)?\b/g)].map(([rule]) => rule);
      if (rules.length > 0) yield { file, title, rules: new Set(rules) };
    }
  }
}

/** Names of functions such as `a_failing_batch_leaves_nothing_behind_c1_7`. */
function* rustTests() {
  for (const file of filesUnder('crates', '.rs')) {
    const source = readFileSync(join(root, file), 'utf8');
    if (!source.includes('#[test]')) continue;
    for (const [, title] of source.matchAll(/\bfn (\w+)\s*\(/g)) {
      const rules = [...title.matchAll(/_c(\d+)(?:_(\d+))?(?=_|$)/g)];
      const cited = rules.map(([, section, rule]) =>
        rule === undefined ? `C${section}` : `C${section}.${rule}`,
      );
      if (cited.length > 0) yield { file, title, rules: new Set(cited) };
    }
  }
}

/** Paths below a folder of the tree, from its root and with `/`. */
function filesUnder(folder, extension) {
  const from = join(root, folder);
  if (!existsSync(from)) return [];
  return readdirSync(from, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(extension))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((path) => !/(^|\/)(node_modules|target)\//.test(path))
    .sort();
}
