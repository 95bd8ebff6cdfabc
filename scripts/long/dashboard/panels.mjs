/** The panels of the dashboard for Grafana, and what their expressions give over a run. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError } from '../../build/process.mjs';
import { root } from '../../build/tree.mjs';
import { rateInterval } from './prometheus.mjs';

/**
 * Targets of which a short run without faults gives no series: the title of the panel and the legend, and why.
 *
 * @type {Record<string, string>}
 */
const MAY_BE_EMPTY = {
  'Scrub age: ': 'the first pass begins an hour after the start at the earliest',
  'Defects of background work: {{task}}': 'no work in the background met a defect',
};

const DASHBOARD = join(root, 'contrib', 'grafana', 'kithdb.json');

/**
 * @typedef {object} Drawn a panel with what it shows
 * @property {string} title
 * @property {string} type `row`, `stat` or `timeseries`
 * @property {{x: number, y: number, w: number, h: number}} gridPos
 * @property {object} [fieldConfig]
 * @property {{name: string, values: [number, number][]}[]} series
 */

/** The dashboard with the panels of collapsed rows below their row, as a reader sees it who opens all of them. */
export function readDashboard() {
  const dashboard = JSON.parse(readFileSync(DASHBOARD, 'utf8'));
  const panels = dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]);
  return { ...dashboard, panels };
}

/**
 * Asks Prometheus for every expression of every panel.
 *
 * @param {ReturnType<typeof readDashboard>} dashboard
 * @param {Awaited<ReturnType<typeof import('./prometheus.mjs').startPrometheus>>} prometheus
 * @param {{from: number, to: number, step: number}} range in seconds
 * @returns {Promise<Drawn[]>} a BuildError names all expressions that are refused or give nothing
 */
export async function queryPanels(dashboard, prometheus, range) {
  const variables = await variablesOf(dashboard, prometheus, range);
  const faults = [];
  const panels = [];
  const met = new Set();
  for (const panel of dashboard.panels) {
    const series = [];
    for (const { expr, legendFormat } of panel.targets ?? []) {
      const name = `${panel.title}: ${legendFormat ?? ''}`;
      const found = await seriesOf(withVariables(expr, variables), prometheus, range, faults);
      if (name in MAY_BE_EMPTY) met.add(name);
      else if (found.length === 0) faults.push(`${name} has no series: ${expr}`);
      series.push(...found.map(({ labels, values }) => ({ name: legend(legendFormat, labels), values })));
    }
    faults.push(...twice(panel.title, series));
    panels.push({ ...panel, series });
  }
  const stale = Object.keys(MAY_BE_EMPTY).filter((name) => !met.has(name));
  faults.push(...stale.map((name) => `the dashboard has no ${name}, which may be empty`));
  if (faults.length > 0) throw new BuildError(faults.join('\n'));
  return panels;
}

/** The series that have a value; what is refused joins the `faults`. */
async function seriesOf(expression, prometheus, range, faults) {
  try {
    const series = await prometheus.range(expression, range);
    return series.filter(({ values }) => values.some(([, value]) => Number.isFinite(value)));
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    faults.push(error.message);
    return [];
  }
}

/** Two lines with the same name cannot be told apart. */
function twice(title, series) {
  const names = series.map(({ name }) => name);
  const doubled = names.filter((name, place) => names.indexOf(name) !== place);
  return doubled.map((name) => `${title} has two lines with the name ${name}`);
}

/** What Grafana puts in the place of the variables of expressions. */
async function variablesOf({ templating }, prometheus, { from, to, step }) {
  const variables = { __rate_interval: `${rateInterval(step)}s`, __range: `${Math.ceil(to - from)}s` };
  for (const { name, type, query } of templating.list) {
    if (type !== 'query') continue;
    const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(query);
    const values = await prometheus.labelValues(label, metric);
    if (values.length === 0) throw new BuildError(`the variable ${name} has no values: ${query}`);
    // A variable of several values becomes a regular expression, within a string of PromQL.
    variables[name] = `(${values.map((value) => value.replaceAll('.', '\\\\.')).join('|')})`;
  }
  return variables;
}

function withVariables(expression, variables) {
  return expression.replaceAll(/\$(\w+)/g, (_, name) => {
    if (!(name in variables)) throw new BuildError(`the dashboard has no variable ${name}: ${expression}`);
    return variables[name];
  });
}

function legend(format, labels) {
  return (format ?? '').replaceAll(/\{\{(\w+)\}\}/g, (_, label) => labels[label] ?? '');
}
