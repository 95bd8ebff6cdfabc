import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '..', '..');

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** Cells of the rows of the table of suites, by the name of the suite. */
const rows = new Map(
  read('docs/durability.md')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter((cells) => cells.length === 6)
    .map(([, suite, , usually, full]) => [suite!, { usually: usually!, full: full! }]),
);

/** A number that code gives a name, or that a pattern finds. */
function numberIn(path: string, pattern: RegExp): number {
  const found = pattern.exec(read(path))?.[1];
  if (found === undefined) throw new Error(`${path} has no ${String(pattern)}`);
  return Number(found.replaceAll('_', ''));
}

const TESTS = 'crates/engine/tests';

describe('docs/durability.md says what runs', () => {
  it.each([
    ['power cuts', `${TESTS}/power_cut/main.rs`, /const SEEDS: u64 = ([\d_]+)/],
    ['small programs', `${TESTS}/power_cut/exhaustive.rs`, /const LONGEST_PROGRAMS: u64 = ([\d_]+)/],
    ['n-th call fails', `${TESTS}/power_cut/nth_call.rs`, /const CALLS: u64 = ([\d_]+)/],
    ['kills', 'test/crash/kill.test.ts', /KITHDB_KILLS'\] \?\? ([\d_]+)/],
    ['damage', `${TESTS}/damage/suite.rs`, /const DAMAGES: u64 = ([\d_]+)/],
    ['repairs', `${TESTS}/repair.rs`, /const DAMAGES: u64 = ([\d_]+)/],
    ['fuzzing', `${TESTS}/corpus.rs`, /const MUTATIONS: u64 = ([\d_]+)/],
    ['orders of threads', `${TESTS}/models.rs`, /const SCHEDULES: u64 = ([\d_]+)/],
    ['authentication', 'test/auth/store-damage.test.ts', /KITHDB_AUTH_FLIPS'\] \?\? ([\d_]+)/],
  ])('in npm test: %s', (suite, path, pattern) => {
    const count = numberIn(path, pattern).toLocaleString('en');
    expect(rows.get(suite)?.usually).toMatch(new RegExp(`(?<![\\d,])${count}(?![\\d,])`));
  });

  it('in full: every suite and its count', () => {
    const suites = read('scripts/long/suites.mjs').split('const standard = {')[1]!;
    const stated = [...rows.values()].flatMap(({ full }) => [...full.matchAll(/`([\w-]+)`: ([\d,]+)/g)]);
    expect(stated.length).toBeGreaterThan(8);
    for (const [, suite, count] of stated) {
      const at = suites.search(new RegExp(`^  '?${suite!}'?: `, 'm'));
      expect([suite, at >= 0]).toEqual([suite, true]);
      const full = /full: ([\d_]+)/.exec(suites.slice(at))?.[1]?.replaceAll('_', '');
      expect([suite, Number(full).toLocaleString('en')]).toEqual([suite, count]);
    }
  });
});
