/**
 * Draws which modules of the engine use which, as an SVG on standard output:
 *
 *     node scripts/docs/floors.mjs --revision 5a880ebf > docs/pictures/floors.svg
 *
 * A row and a column for each module of `crates/engine/src`, in the order of the table of that revision's ARCHITECTURE.md;
 * rows of the table are bands. A module that the table lacks stands behind the last one that it uses. A square says that
 * the module of its row uses that of its column: blue squares are left of the diagonal, as the table asks, red ones are not.
 * Imports are read as `crates/engine/tests/floors.rs` reads them: every path from `crate::`, without comments and tests.
 * The bars have the lines of code, also without comments and tests.
 */
import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { root } from '../build/tree.mjs';

const SRC = 'crates/engine/src/';
const { revision } = parseArgs({ options: { revision: { type: 'string', default: 'HEAD' } } }).values;

const [CELL, LEFT, TOP, BARS] = [13, 150, 76, 110];
const STYLE =
  'text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;font-size:11px;fill:#374151}' +
  '.title{font-size:14px;font-weight:600;fill:#111827}.end{text-anchor:end}.middle{text-anchor:middle;font-size:8px}' +
  '.area{fill:#f3f6f9}.bar{fill:#9aa4b0}.blue{fill:#0a58b8}.red{fill:#c2410c}.line{stroke:#9aa4b0;fill:none}' +
  '@media (prefers-color-scheme:dark){text{fill:#c3cad3}.title{fill:#f0f3f6}.area{fill:#161b22}.bar{fill:#5b6673}' +
  '.blue{fill:#6cb6ff}.red{fill:#fb923c}.line{stroke:#5b6673}}';

function git(...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 });
}

/** The lines of a source without comments and the bodies of `#[cfg(test)]` modules. */
function codeOf(source) {
  const tests = /^#\[cfg\((?:test|all\(test,.*)\)\]\nmod [^\n]*\{\n[^]*?^\}$/gm;
  const lines = source.replaceAll(tests, '').split('\n');
  return lines.filter((line) => line.trim() !== '' && !line.trim().startsWith('//'));
}

/** Each module's lines of code, and how often it names each other one. */
function readModules() {
  const modules = new Map();
  for (const path of git('ls-tree', '-r', '--name-only', revision, SRC).trim().split('\n')) {
    const parts = path.slice(SRC.length).replace(/\.rs$/, '').split('/');
    if (!path.endsWith('.rs') || parts.includes('tests') || parts[0] === 'lib') continue;
    const code = codeOf(git('show', `${revision}:${path}`));
    const module = modules.get(parts[0]) ?? { lines: 0, uses: new Map() };
    module.lines += code.length;
    for (const [, used] of code.join('\n').matchAll(/crate::(\w+)/g)) {
      if (used !== parts[0]) module.uses.set(used, (module.uses.get(used) ?? 0) + 1);
    }
    modules.set(parts[0], module);
  }
  return modules;
}

/** The rows of the table, as lists of names, with those that it lacks in rows of their own. */
function floorsOf(modules) {
  const section = git('show', `${revision}:ARCHITECTURE.md`).split('### `crates/engine`')[1];
  const [table] = /(?:^\|.*\n)+/m.exec(section);
  const cells = table.split('\n').map((row) => row.split('|')[1] ?? '');
  const named = cells.map((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  const floors = named.filter((names) => names.length > 0);
  for (const [name, { uses }] of modules) {
    if (floors.flat().includes(name)) continue;
    floors.splice(1 + floors.findLastIndex((floor) => floor.some((used) => uses.has(used))), 0, [name]);
  }
  return floors.map((floor) => floor.filter((name) => modules.has(name))).filter((floor) => floor.length > 0);
}

function draw(modules, floors) {
  const names = floors.flat();
  const size = names.length * CELL;
  const bars = LEFT + size + 12;
  const [width, height] = [bars + BARS + 50, TOP + size + 8];
  const most = Math.max(...[...modules.values()].map(({ lines }) => lines));
  const imports = names.flatMap((name, row) =>
    [...modules.get(name).uses].map(([used, times]) => ({
      name,
      row,
      used,
      times,
      column: names.indexOf(used),
    })),
  );
  const drawn = imports.filter(({ column }) => column >= 0);
  const isUp = ({ row, column }) => column > row;
  const middle = (at) => TOP + at * CELL + 9.5;
  const bands = floors.map((floor, at) => {
    if (at % 2 === 1) return '';
    const y = TOP + names.indexOf(floor[0]) * CELL;
    return `<rect class="area" x="0" y="${y}" width="${width}" height="${floor.length * CELL}"/>`;
  });
  const rows = names.map((name, row) => {
    const { lines } = modules.get(name);
    const length = Math.max(1, Math.round((lines / most) * BARS));
    return (
      `<text class="end" x="${LEFT - 24}" y="${middle(row)}">${name}</text>` +
      `<text class="end" x="${LEFT - 4}" y="${middle(row)}">${row + 1}</text>` +
      `<text class="middle" x="${LEFT + (row + 0.5) * CELL}" y="${TOP - 4}">${row + 1}</text>` +
      `<rect class="bar" x="${bars}" y="${TOP + row * CELL + 3}" width="${length}" height="${CELL - 6}"/>` +
      `<text x="${bars + length + 4}" y="${middle(row)}">${lines.toLocaleString('en')}</text>`
    );
  });
  const squares = drawn.map((each) => {
    const { name, used, times, row, column } = each;
    const [x, y] = [LEFT + column * CELL + 1.5, TOP + row * CELL + 1.5];
    const place = `class="${isUp(each) ? 'red' : 'blue'}" x="${x}" y="${y}" width="${CELL - 3}" height="${CELL - 3}"`;
    return `<rect ${place}><title>${name} uses ${used}: ${times}</title></rect>`;
  });
  const up = drawn.filter(isUp).length;
  const label = `Which of ${names.length} modules of the engine uses which; ${up} use one behind them`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">`,
    `<style>${STYLE}</style>`,
    `<text class="title" x="8" y="20">crates/engine/src at ${git('rev-parse', '--short=7', revision).trim()}</text>`,
    `<text x="8" y="40">${names.length} modules. A square: that of the row uses that of the column (${drawn.length} pairs).</text>`,
    `<text x="8" y="56">${up} of the pairs are against the order of the table: right of the diagonal.</text>`,
    `<text x="${bars}" y="${TOP - 4}">lines of code</text>`,
    ...bands,
    `<path class="line" d="M${LEFT} ${TOP}L${LEFT + size} ${TOP + size}"/>`,
    ...rows,
    ...squares,
    '</svg>\n',
  ].join('\n');
}

const modules = readModules();
process.stdout.write(draw(modules, floorsOf(modules)));
