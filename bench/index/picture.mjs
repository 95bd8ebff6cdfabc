/** Recall against queries per second as an SVG that is legible on light and on dark pages. */
import { frontier, logit } from './curve.mjs';
import { escape, page, pixel } from '../svg.mjs';
import { curves, OURS } from './ratios.mjs';

const HEIGHT = 520;
const PLOT = { left: 72, right: 700, top: 64, bottom: 456 };
const LABEL_STEP = 18;

/** Searches with less recall are not drawn. */
const LEAST_RECALL = 0.7;

const RECALL_TICKS = [0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 0.99999];

/** A light and a dark shade for each system; those beyond get the last. */
const COLOURS = [
  ['hnswlib', '#b4470b', '#fb923c'],
  ['faiss', '#17703a', '#4ade80'],
  ['usearch', '#7a28c4', '#c79bff'],
  ['glass', '#8a1c5b', '#f28cc4'],
  ['symphonyqg', '#a16207', '#facc15'],
  ['svs', '#0f766e', '#2dd4bf'],
  ['scann', '#b91c1c', '#f87171'],
  ['vsag', '#4338ca', '#a5b4fc'],
  [OURS, '#0a58b8', '#6cb6ff'],
  ['', '#475569', '#a3b1c2'],
];

/**
 * @param {object[]} runs on one thread
 * @param {{title: string, subtitle: string}} text
 * @returns {string} SVG
 */
export function picture(runs, text) {
  const lines = curves(runs)
    .map(([system, mode, points]) => ({
      system,
      mode,
      points: frontier(points).filter(({ recall }) => recall >= LEAST_RECALL),
    }))
    .filter(({ points }) => points.length > 0);
  const all = lines.flatMap(({ points }) => points);
  const x = axis(
    all.map(({ recall }) => logit(recall)),
    PLOT.left,
    PLOT.right,
  );
  const y = axis(
    all.map(({ qps }) => Math.log(qps)),
    PLOT.bottom,
    PLOT.top,
  );
  const place = ({ recall, qps }) => [x.at(logit(recall)), y.at(Math.log(qps))];
  return page(text, HEIGHT, rules(), [
    ...RECALL_TICKS.filter((recall) => x.shows(logit(recall))).map((recall) => {
      const at = pixel(x.at(logit(recall)));
      return (
        `<path class="grid" d="M${at} ${PLOT.top}V${PLOT.bottom}"/>` +
        `<text class="tick" x="${at}" y="${PLOT.bottom + 18}" text-anchor="middle">${recall}</text>`
      );
    }),
    ...rateTicks(y).map((qps) => {
      const at = y.at(Math.log(qps));
      return (
        `<path class="grid" d="M${PLOT.left} ${pixel(at)}H${PLOT.right}"/>` +
        `<text class="tick" x="${PLOT.left - 8}" y="${pixel(at + 4)}" text-anchor="end">${qps.toLocaleString('en')}</text>`
      );
    }),
    `<text class="note" x="${(PLOT.left + PLOT.right) / 2}" y="${PLOT.bottom + 42}" text-anchor="middle">recall (stretched near 1)</text>`,
    `<text class="note" transform="translate(18 ${(PLOT.top + PLOT.bottom) / 2}) rotate(-90)" text-anchor="middle">queries per second, one thread</text>`,
    ...lines.map((line) => curve(line, place)),
    ...labels(lines, place),
  ]);
}

/** Maps values to pixels, with a little room at both ends. */
function axis(values, from, to) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low || 1) * 0.04;
  const [first, last] = [low - room, high + room];
  return {
    at: (value) => from + ((value - first) / (last - first)) * (to - from),
    shows: (value) => value >= first && value <= last,
    first,
    last,
  };
}

function rateTicks(y) {
  const ticks = [];
  for (let power = 1; Math.log(power) <= y.last; power *= 10) {
    for (const factor of [1, 2, 5]) if (y.shows(Math.log(power * factor))) ticks.push(power * factor);
  }
  return ticks;
}

function curve({ system, mode, points }, place) {
  const path = points.map((point, at) => `${at ? 'L' : 'M'}${place(point).map(pixel).join(' ')}`).join('');
  const dots = points.map((point) => {
    const [cx, cy] = place(point).map(pixel);
    const what = `${name(system, mode)}, ef ${point.ef}: recall ${point.recall}, ${point.qps} a second`;
    return `<circle class="${dot(system)}" cx="${cx}" cy="${cy}" r="3"><title>${escape(what)}</title></circle>`;
  });
  const dashed = mode && mode !== 'default' ? ' stroke-dasharray="6 4"' : '';
  const weight = system === OURS ? 3 : 1.75;
  return `<path class="${stroke(system)}" d="${path}" fill="none" stroke-width="${weight}"${dashed}/>${dots.join('')}`;
}

/** Beside the plot, at the height of the curves' ends, moved apart where these are too close. */
function labels(lines, place) {
  const ends = lines
    .map((line) => ({ ...line, end: place(line.points.at(-1)) }))
    .sort((a, b) => a.end[1] - b.end[1]);
  let height = PLOT.top - LABEL_STEP;
  for (const label of ends) label.y = height = Math.max(label.end[1], height + LABEL_STEP);
  let floor = PLOT.bottom + LABEL_STEP;
  for (const label of ends.toReversed()) label.y = floor = Math.min(label.y, floor - LABEL_STEP);
  return ends.map(({ system, mode, end: [endX, endY], y }) => {
    const from = PLOT.right + 8;
    return (
      `<path class="lead" d="M${pixel(endX + 5)} ${pixel(endY)}L${from} ${pixel(y)}"/>` +
      `<text class="${labelled(system)}" x="${from + 6}" y="${pixel(y + 4)}">${escape(name(system, mode))}</text>`
    );
  });
}

function name(system, mode) {
  return mode === null || mode === undefined || mode === 'default' ? system : `${system}, ${mode}`;
}

function colour(system) {
  const at = COLOURS.findIndex(([known]) => known === system);
  return at < 0 ? COLOURS.length - 1 : at;
}

const stroke = (system) => `s${colour(system)}`;
const dot = (system) => `f${colour(system)}`;
const labelled = (system) => `label f${colour(system)}`;

function rules() {
  const systems = (shade) =>
    COLOURS.map(([, ...shades], at) => `.s${at}{stroke:${shades[shade]}}.f${at}{fill:${shades[shade]}}`).join(
      '',
    );
  return {
    light: `.tick{fill:#4b5563}.label{font-weight:600}.grid{stroke:#e2e6ea;stroke-width:1}.lead{stroke:#9aa4b0;stroke-width:0.75;fill:none}${systems(0)}`,
    dark: `.tick{fill:#a9b4c0}.grid{stroke:#252c35}.lead{stroke:#5b6673}${systems(1)}`,
  };
}
