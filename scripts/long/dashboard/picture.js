/* global document, uPlot -- this runs in the page of picture.html */
'use strict';

const PALETTE = [
  ...['#3274d9', '#d68f00', '#37872d', '#c4162a', '#8f3bb8', '#0a8f8f'],
  ...['#e0569b', '#7a5c2e', '#5f6b7a', '#9aa500', '#1f3d7a', '#b35a00'],
];
const NAMED = { green: '#37872d', red: '#c4162a', yellow: '#d68f00', orange: '#d68f00', blue: '#3274d9' };

/** Colours of the mode "shades": lines that belong together and can still be told apart. */
const SHADES = {
  green: ['#37872d', '#73bf69', '#1f5a17', '#a8d8a0'],
  orange: ['#d68f00', '#8a5a00', '#f2b84b', '#5e3d00'],
  red: ['#c4162a', '#7a0d1a', '#f2495c', '#ff9aa5'],
};
const POWERS_OF_TWO = Array.from({ length: 50 }, (_, power) => 2 ** power);

/** Units of Grafana: a text for a number. */
const UNITS = {
  short: (value) => plain(value),
  none: (value) => plain(value),
  s: (value) => seconds(value),
  bytes: (value) => scaled(value, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']),
  Bps: (value) => scaled(value, 1000, ['B/s', 'kB/s', 'MB/s', 'GB/s']),
  percentunit: (value) => `${Number((value * 100).toPrecision(4))}%`,
  reqps: (value) => `${plain(value)} req/s`,
  wps: (value) => `${plain(value)} wr/s`,
  ops: (value) => `${plain(value)} ops/s`,
  cps: (value) => `${plain(value)} c/s`,
  cpm: (value) => `${plain(value)} c/m`,
};

const trimmed = (value) => String(Number(value.toPrecision(3)));
const plain = (value) => scaled(value, 1000, ['', ' K', ' Mil', ' Bil'], '');

function scaled(value, base, units, space = ' ') {
  let place = 0;
  while (Math.abs(value) >= base && place < units.length - 1) {
    value /= base;
    place += 1;
  }
  return `${trimmed(value)}${units[place] === '' ? '' : space}${units[place]}`;
}

function seconds(value) {
  const size = Math.abs(value);
  if (size === 0) return '0 s';
  if (size < 0.001) return `${trimmed(value * 1e6)} µs`;
  if (size < 1) return `${trimmed(value * 1e3)} ms`;
  if (size < 60) return `${trimmed(value)} s`;
  if (size < 3600) return `${trimmed(value / 60)} mins`;
  return size < 86_400 ? `${trimmed(value / 3600)} hours` : `${trimmed(value / 86_400)} days`;
}

function element(parent, name, className, text) {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text ?? '';
  parent.append(made);
  return made;
}

/** Draws panels as scripts/long/dashboard/panels.mjs makes them. */
// eslint-disable-next-line no-unused-vars -- picture.mjs calls it
function drawPanels(panels) {
  const grid = document.getElementById('grid');
  for (const panel of panels) {
    const { x, y, w, h } = panel.gridPos;
    const box = element(grid, 'div', `panel ${panel.type}`);
    box.style.gridArea = `${y + 1} / ${x + 1} / span ${h} / span ${w}`;
    if (panel.type === 'row') box.textContent = panel.title;
    else element(box, 'h2', '', panel.title);
    if (panel.type === 'stat') drawFigure(box, panel);
    if (panel.type === 'timeseries') drawLines(box, panel);
  }
}

function textOf({ fieldConfig }, value) {
  const { unit, mappings = [] } = fieldConfig.defaults;
  const mapped = mappings.map(({ options }) => options[value]).find((found) => found !== undefined);
  if (mapped !== undefined) return mapped.text;
  if (!(unit in UNITS)) throw new Error(`The unit ${unit} is not known`);
  return UNITS[unit](value);
}

function drawFigure(box, panel) {
  const { thresholds, noValue } = panel.fieldConfig.defaults;
  const values = panel.series.flatMap(({ values }) => values).filter(([, value]) => Number.isFinite(value));
  const value = values.at(-1)?.[1];
  const figure = element(box, 'div', 'figure', value === undefined ? noValue : textOf(panel, value));
  const step = (thresholds?.steps ?? []).filter(({ value: from }) => (from ?? -Infinity) <= value).at(-1);
  figure.style.color = NAMED[step?.color] ?? '';
}

/** The colour and the dash of a line, as the overrides of the panel say. */
function styleOf(panel, name, place) {
  const style = { stroke: PALETTE[place % PALETTE.length], dash: undefined, stacked: false };
  for (const { matcher, properties } of panel.fieldConfig.overrides ?? []) {
    const pattern = matcher.id === 'byRegexp' && new RegExp(matcher.options.replace(/^\/(.*)\/$/, '$1'));
    if (pattern ? !pattern.test(name) : matcher.options !== name) continue;
    for (const { id, value } of properties) {
      if (id === 'color') style.stroke = SHADES[value.fixedColor][place % SHADES[value.fixedColor].length];
      if (id === 'custom.lineStyle') style.dash = value.dash;
    }
  }
  return style;
}

function drawLines(box, panel) {
  const chart = element(box, 'div', 'chart');
  const legend = element(box, 'div', 'legend');
  const { custom = {}, min, max, unit } = panel.fieldConfig.defaults;
  const styles = panel.series.map(({ name }, place) => styleOf(panel, name, place));
  panel.series.forEach(({ name }, place) => {
    const entry = element(legend, 'span', '', name);
    const mark = document.createElement('i');
    mark.style.background = styles[place].stroke;
    entry.prepend(mark);
  });
  const isStacked = custom.stacking?.mode === 'normal';
  const data = isStacked ? stacked(aligned(panel.series)) : aligned(panel.series);
  const lines = panel.series.map((_, place) => ({
    ...styles[place],
    ...{ width: 1.5, points: { show: custom.showPoints === 'never' ? false : undefined } },
    fill: `${styles[place].stroke}${isStacked ? '55' : '18'}`,
  }));
  if (!(unit in UNITS)) throw new Error(`The unit ${unit} is not known`);
  const axes = [
    {
      values: (_, splits) => splits.map((split) => new Date(split * 1000).toISOString().slice(11, 19)),
      space: 70,
    },
    {
      ...{ size: 76, values: (_, splits) => splits.map((split) => textOf(panel, split)) },
      ...(unit === 'bytes' ? { incrs: POWERS_OF_TWO } : {}),
    },
  ];
  const range = (_, low, high) => [min ?? low ?? 0, max ?? (high > (min ?? low) ? high * 1.08 : 1)];
  new uPlot(
    {
      ...{
        width: chart.clientWidth,
        height: chart.clientHeight,
        legend: { show: false },
        series: [{}, ...lines],
      },
      ...{ axes, scales: { y: { range } }, cursor: { show: false }, bands: isStacked ? bandsOf(lines) : [] },
      hooks: { draw: [(plot) => drawThresholds(plot, panel)] },
    },
    data,
    chart,
  );
}

/** The columns of uPlot: the times of all series, and the values of each, null where it has none. */
function aligned(series) {
  const times = [...new Set(series.flatMap(({ values }) => values.map(([time]) => time)))].sort(
    (a, b) => a - b,
  );
  const columns = series.map(({ values }) => {
    const known = new Map(values.filter(([, value]) => Number.isFinite(value)));
    return times.map((time) => known.get(time) ?? null);
  });
  return [times, ...columns];
}

function stacked([times, ...columns]) {
  const sums = times.map(() => 0);
  return [times, ...columns.map((column) => column.map((value, place) => (sums[place] += value ?? 0)))];
}

/** The space between each line of a stack and the one below it. */
function bandsOf(lines) {
  return lines.slice(1).map((_, place) => ({ series: [place + 2, place + 1] }));
}

/** Lines at the thresholds that are within the scale, where the panel shows them. */
function drawThresholds(plot, { fieldConfig }) {
  const { custom = {}, thresholds } = fieldConfig.defaults;
  if ((custom.thresholdsStyle?.mode ?? 'off') === 'off') return;
  const { left, width } = plot.bbox;
  for (const { color, value } of thresholds.steps) {
    if (value === null || value > plot.scales.y.max) continue;
    const y = Math.round(plot.valToPos(value, 'y', true));
    plot.ctx.strokeStyle = NAMED[color] ?? color;
    plot.ctx.setLineDash([6, 6]);
    plot.ctx.beginPath();
    plot.ctx.moveTo(left, y);
    plot.ctx.lineTo(left + width, y);
    plot.ctx.stroke();
  }
}
