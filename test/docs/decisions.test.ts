import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGE = readFileSync(join(__dirname, '..', '..', 'docs', 'decisions.md'), 'utf8');

test('every decision has its reason and its cost', () => {
  const rows = PAGE.split('\n').filter((line) => line.startsWith('|') && !/^\| (decision|-)/.test(line));
  expect(rows.length).toBeGreaterThan(50);
  const incomplete = rows.filter((row) => {
    const cells = row.split('|').slice(1, -1);
    return cells.length !== 3 || cells.some((cell) => cell.trim() === '');
  });
  expect(incomplete).toEqual([]);
});
