import { inScript } from '../docs/script';

/** The suites of the first turns of a timed run. */
function firstTurns(turns: number, seed?: number): unknown {
  return inScript(
    'scripts/long/rotation.mjs',
    `((suites) => Array.from({ length: ${turns} }, () => suites.next().value))(script.rotation(['a', 'b', 'c'], ${seed}))`,
  );
}

test('a timed run of the long tests begins with the suite that its seed chooses, and goes round', () => {
  expect(firstTurns(4)).toEqual(['a', 'b', 'c', 'a']);
  expect(firstTurns(4, 7)).toEqual(['b', 'c', 'a', 'b']);
  expect(firstTurns(1, Number.MAX_SAFE_INTEGER)).toEqual(['b']);
});
