/** Latencies around the death of a process, over time, as an SVG that is legible on light and on dark pages. */
import { escape, page, pixel } from '../svg.mjs';

const PLOT = { left: 72, right: 836, height: 190, gap: 92, top: 104 };
/** Milliseconds of the vertical axis, which is logarithmic. */
const TICKS_MS = [1, 10, 100, 1000, 10_000];
const [LEAST_MS, MOST_MS] = [0.5, 20_000];
const SECOND_TICKS = 5;

/** Name, what is drawn, whether the line is dashed, and a light and a dark shade. */
const LINES = [
  { name: 'reads, median', of: 'reads', figure: 'p50Ms', dashed: false },
  { name: 'reads, slowest', of: 'reads', figure: 'maxMs', dashed: true },
  { name: 'writes, median', of: 'writes', figure: 'p50Ms', dashed: false },
  { name: 'writes, slowest', of: 'writes', figure: 'maxMs', dashed: true },
];
const SHADES = { reads: ['#0a58b8', '#6cb6ff'], writes: ['#b4470b', '#fb923c'] };

/**
 * @param {{what: string, drawn: {reads: object[], writes: object[]}}[]} deaths each has a panel
 * @param {{title: string, subtitle: string}} text
 * @returns {string} SVG
 */
export function picture(deaths, text) {
  const height = PLOT.top + deaths.length * (PLOT.height + PLOT.gap) - 30;
  return page(text, height, rules(), [
    ...LINES.map(legend),
    ...deaths.flatMap((death, at) => panel(death, PLOT.top + at * (PLOT.height + PLOT.gap))),
  ]);
}

function legend({ name, of, dashed }, at) {
  const x = 24 + at * 160;
  return (
    `<path class="${of}" d="M${x} 68h24" fill="none" stroke-width="2"${dash(dashed)}/>` +
    `<text class="note" x="${x + 30}" y="72">${escape(name)}</text>`
  );
}

function panel({ what, drawn }, top) {
  const times = [...drawn.reads, ...drawn.writes].map(({ ms }) => ms);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const bottom = top + PLOT.height;
  const x = (ms) => PLOT.left + ((ms - first) / (last - first || 1)) * (PLOT.right - PLOT.left);
  const share = (ms) =>
    Math.log(Math.min(MOST_MS, Math.max(LEAST_MS, ms)) / LEAST_MS) / Math.log(MOST_MS / LEAST_MS);
  const y = (ms) => bottom - share(ms) * PLOT.height;
  const step = SECOND_TICKS * 1000;
  const seconds = Array.from(
    { length: Math.floor((last - first) / step) + 1 },
    (_, at) => Math.ceil(first / step) * step + at * step,
  ).filter((ms) => ms <= last);
  return [
    `<text class="label" x="${PLOT.left}" y="${top - 10}">${escape(`${what} is killed`)}</text>`,
    ...TICKS_MS.map(
      (ms) =>
        `<path class="grid" d="M${PLOT.left} ${pixel(y(ms))}H${PLOT.right}"/>` +
        `<text class="note" x="${PLOT.left - 8}" y="${pixel(y(ms) + 4)}" text-anchor="end">${ms.toLocaleString('en')}</text>`,
    ),
    ...seconds.map(
      (ms) =>
        `<path class="grid" d="M${pixel(x(ms))} ${top}V${bottom}"/>` +
        `<text class="note" x="${pixel(x(ms))}" y="${bottom + 18}" text-anchor="middle">${ms / 1000}</text>`,
    ),
    `<path class="death" d="M${pixel(x(0))} ${top}V${bottom}" stroke-width="1.5"/>`,
    ...LINES.map((line) => curve(line, drawn[line.of], x, y)),
    ...['reads', 'writes'].flatMap((of) => crosses(of, drawn[of], x, top)),
    `<text class="note" x="${(PLOT.left + PLOT.right) / 2}" y="${bottom + 38}" text-anchor="middle">seconds from the death</text>`,
    `<text class="note" transform="translate(18 ${top + PLOT.height / 2}) rotate(-90)" text-anchor="middle">latency, ms</text>`,
  ];
}

/** A line with a gap where nothing was answered. */
function curve({ name, of, figure, dashed }, bins, x, y) {
  let isDrawing = false;
  const steps = bins.map((bin) => {
    const isThere = bin[figure] !== null;
    const step = isThere ? `${isDrawing ? 'L' : 'M'}${pixel(x(bin.ms))} ${pixel(y(bin[figure]))}` : '';
    isDrawing = isThere;
    return step;
  });
  return `<path class="${of}" d="${steps.join('')}" fill="none" stroke-width="1.75"${dash(dashed)}><title>${escape(name)}</title></path>`;
}

/** Marks of the intervals in which requests failed. */
function crosses(of, bins, x, top) {
  return bins
    .filter(({ failed }) => failed > 0)
    .map(
      ({ ms, failed }) =>
        `<path class="${of}" d="M${pixel(x(ms) - 3)} ${top + 3}l6 6m0 -6l-6 6" fill="none" stroke-width="1.5">` +
        `<title>${of} that failed: ${failed}</title></path>`,
    );
}

function dash(dashed) {
  return dashed ? ' stroke-dasharray="5 3"' : '';
}

function rules() {
  const lines = (shade) =>
    Object.entries(SHADES)
      .map(([of, shades]) => `.${of}{stroke:${shades[shade]}}`)
      .join('');
  return {
    light: `.label{font-weight:600;fill:#111827}.grid{stroke:#e2e6ea;stroke-width:1}.death{stroke:#475569}${lines(0)}`,
    dark: `.label{fill:#f0f3f6}.grid{stroke:#252c35}.death{stroke:#a3b1c2}${lines(1)}`,
  };
}
