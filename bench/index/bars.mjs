/** Horizontal bars as an SVG for light and dark pages: memory of the systems, cost of filters. */
import { escape, page, pixel } from '../svg.mjs';

const LABEL_WIDTH = 210;
const BAR = { left: 224, right: 770, height: 18, step: 27, top: 92 };
const LEGEND_Y = 72;

/** A light and a dark shade for each part of a bar, in order. */
const COLOURS = [
  ['#0a58b8', '#6cb6ff'],
  ['#17703a', '#4ade80'],
  ['#b4470b', '#fb923c'],
  ['#94a3b8', '#64748b'],
];

/**
 * Bytes a row of each system, in parts, the original vectors included.
 *
 * @param {{set: object, memory: object[]}} report
 * @returns {string} SVG
 */
export function memoryBars({ set, memory }) {
  const rows = memory.map(({ system, bytes_per_row: index, components, ...line }) => {
    if (!components) return { label: `${system} (vectors and graph)`, parts: [['all', index]] };
    const { codes, links, owners_and_deaths: columns } = components;
    const originals = line.with_originals_bytes_per_row - index;
    return {
      label: `${system} (originals in memory)`,
      parts: [
        ['codes', codes],
        ['links, owners and deaths', links + columns],
        ['originals', originals],
      ],
    };
  });
  return bars(
    {
      title: `${set.name}: bytes a row`,
      subtitle: `${set.rows.toLocaleString('en')} × ${set.dims}, originals included`,
    },
    rows,
    ['codes', 'links, owners and deaths', 'originals', 'all'],
  );
}

/**
 * Latency with a filter as a multiple of that without, for each kind of filter and share of matches.
 *
 * @param {{set: object, filtered: object}} report
 * @returns {string} SVG
 */
export function filterBars({ set, filtered }) {
  const rows = filtered.filtered.map(({ filter, share_percent: share, ratio }) => ({
    label: `${filter}, ${share} %`,
    parts: [['latency', ratio]],
  }));
  return bars(
    {
      title: `${set.name}: latency with a filter ÷ without`,
      subtitle: `ef ${filtered.ef}; kind of filter and share of the points that match; less is better`,
    },
    rows,
    ['latency'],
  );
}

/**
 * @param {{title: string, subtitle: string}} text
 * @param {{label: string, parts: [string, number][]}[]} rows
 * @param {string[]} names of the parts, in the order of their colours
 */
function bars(text, rows, names) {
  const total = ({ parts }) => parts.reduce((sum, [, value]) => sum + value, 0);
  const scale = (BAR.right - BAR.left) / Math.max(...rows.map(total));
  const height = BAR.top + rows.length * BAR.step + 16;
  return page(text, height, rules(), [
    ...(names.length > 1 ? names.map(legend) : []),
    ...rows.flatMap((row, at) => bar(row, BAR.top + at * BAR.step, scale, names)),
  ]);
}

function legend(name, at) {
  const x = BAR.left + at * 175;
  return (
    `<rect class="p${at}" x="${x}" y="${LEGEND_Y - 10}" width="11" height="11"/>` +
    `<text class="note" x="${x + 16}" y="${LEGEND_Y}">${escape(name)}</text>`
  );
}

function bar({ label, parts }, y, scale, names) {
  let x = BAR.left;
  const middle = y + BAR.height - 5;
  const boxes = parts.map(([name, value]) => {
    const width = value * scale;
    const box =
      `<rect class="p${names.indexOf(name)}" x="${pixel(x)}" y="${y}" width="${pixel(width)}" height="${BAR.height}">` +
      `<title>${escape(`${label}: ${name} ${shown(value)}`)}</title></rect>`;
    x += width;
    return box;
  });
  const sum = parts.reduce((total, [, value]) => total + value, 0);
  return [
    `<text class="note" x="${LABEL_WIDTH}" y="${middle}" text-anchor="end">${escape(label)}</text>`,
    ...boxes,
    `<text class="value" x="${pixel(x + 8)}" y="${middle}">${shown(sum)}</text>`,
  ];
}

function shown(value) {
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toFixed(2)));
}

function rules() {
  const parts = (shade) => COLOURS.map((shades, at) => `.p${at}{fill:${shades[shade]}}`).join('');
  return {
    light: `.value{font-weight:600;fill:#111827}${parts(0)}`,
    dark: `.value{fill:#f0f3f6}${parts(1)}`,
  };
}
