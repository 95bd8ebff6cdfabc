/** Columns of text. */

/**
 * @param {Record<string, unknown>[]} rows
 * @param {Record<string, (row: any) => unknown>} columns heading → the cell of a row; numbers are aligned right
 * @returns {string} with a line for the headings
 */
export function table(rows, columns) {
  const headings = Object.keys(columns);
  const cells = rows.map((row) => headings.map((heading) => columns[heading](row)));
  const texts = cells.map((line) => line.map(show));
  const widths = headings.map((heading, at) =>
    Math.max(heading.length, ...texts.map((line) => line[at].length)),
  );
  const isNumeric = headings.map((_, at) => cells.every((line) => typeof (line[at] ?? 0) === 'number'));
  const line = (parts) =>
    parts
      .map((part, at) => (isNumeric[at] ? part.padStart(widths[at]) : part.padEnd(widths[at])))
      .join('  ')
      .trimEnd();
  return [line(headings), ...texts.map(line)].join('\n');
}

function show(value) {
  if (value === null || value === undefined) return '–';
  return typeof value === 'number' && Number.isInteger(value) ? value.toLocaleString('en') : String(value);
}
