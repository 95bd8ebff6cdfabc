/** Spaces between two columns. */
const GAP = 2;

/**
 * Rows as columns side by side. Nothing in a cell can control a terminal. Where a width is given, the last column is cut
 * to it.
 */
export function tableOf(rows: readonly (readonly string[])[], width = Infinity): string {
  const cells = rows.map((row) => row.map(printable));
  const widths = (cells[0] ?? []).map((_, at) => Math.max(...cells.map((row) => widthOf(row[at] ?? ''))));
  const before = widths.slice(0, -1).reduce((sum, columns) => sum + columns + GAP, 0);
  // A narrow terminal still shows some of the last column.
  const last = Math.max(width - before, 16);
  return cells
    .map((row) => {
      const columns = row.map((cell, at) =>
        at === widths.length - 1
          ? cut(cell, last)
          : cell + ' '.repeat((widths[at] ?? 0) - widthOf(cell) + GAP),
      );
      return `${columns.join('').trimEnd()}\n`;
    })
    .join('');
}

/** A text in at most so many columns of a terminal; one that is longer ends with an ellipsis. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = '';
  let used = 1;
  for (const character of text) {
    used += widthOf(character);
    if (used > columns) break;
    kept += character;
  }
  return `${kept}…`;
}

/** Characters that move the cursor, change colours, or change the direction of what follows; and unpaired surrogates. */
const CONTROLS = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/** A text that does nothing to a terminal: control and format characters are written as JSON escapes them. */
export function printable(text: string): string {
  return text.replace(CONTROLS, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}

const WIDE =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303f\uff01-\uff60]/u;
const NARROW = /^[\x20-\x7e]*$/;

/** How many columns of a terminal a text takes, as far as its script says. */
function widthOf(text: string): number {
  if (NARROW.test(text)) return text.length;
  let columns = 0;
  for (const character of text) {
    if (!/\p{M}/u.test(character)) columns += WIDE.test(character) ? 2 : 1;
  }
  return columns;
}
