/** The candidate that takes the fewest edits to become `word`: the name that was probably meant. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Infinity;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/**
 * The candidate that was probably meant by `word`, if that is likely enough to be suggested: one that differs by a few
 * letters, or one whose own words contain the given words or a beginning of them.
 */
export function suggestion(word: string, candidates: readonly string[]): string | undefined {
  const near = nearest(word, candidates);
  if (near !== undefined && isNear(word, near)) {
    return near;
  }
  const asked = wordsOf(word).join('-');
  return asked.length < SHORTEST_PART
    ? undefined
    : candidates.find((candidate) => `-${wordsOf(candidate).join('-')}`.includes(`-${asked}`));
}

/** Whether a name is so close that it was probably meant: one letter in four may be wrong, and two of any four. */
export function isNear(word: string, name: string): boolean {
  const length = Math.max(word.length, name.length);
  return (
    editDistance(word.toLowerCase(), name.toLowerCase()) <=
    (length < 4 ? 1 : Math.max(2, Math.floor(length / 4)))
  );
}

/** A word of fewer letters suggests nothing. */
const SHORTEST_PART = 3;

function wordsOf(name: string): readonly string[] {
  return name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((part) => part !== '');
}

/** Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment) between two words. */
export function editDistance(from: string, to: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      let cost = Math.min(
        at(previous, column) + 1,
        at(current, column - 1) + 1,
        at(previous, column - 1) + (same ? 0 : 1),
      );
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]) {
        cost = Math.min(cost, at(beforePrevious, column - 2) + 1);
      }
      current.push(cost);
    }
    beforePrevious = previous;
    previous = current;
  }
  return at(previous, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
