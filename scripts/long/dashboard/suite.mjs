/**
 * The suite `dashboard`: Prometheus scrapes a server through a short run. Then every expression of the dashboard must have
 * series, the alert rules and the guide's settings for Prometheus must be accepted, and the whole dashboard is drawn into `.build/dashboard.png`.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BuildError, mustRun } from '../../build/process.mjs';
import { root } from '../../build/tree.mjs';
import { startServer } from '../../server-process.mjs';
import { drive } from './load.mjs';
import { queryPanels, readDashboard } from './panels.mjs';
import { drawDashboard } from './picture.mjs';
import { findPrometheus, startPrometheus } from './prometheus.mjs';

const RUN_SECONDS = 90;
/** Before the run and after it: a rate wants two scrapes, and the text of metrics may be two seconds old. */
const MARGIN_SECONDS = 4;
const launcher = join(root, 'bin', 'kithdb.js');
const contrib = join(root, 'contrib', 'prometheus');
const rules = join(contrib, 'alerts.yaml');
const ruleTests = ['alerts.test.yaml', 'alerts-days.test.yaml'].map((name) => join(contrib, name));
const SETTINGS = {
  // More than the default, so that recall is measured within the run.
  'calibration-percent': '30',
  'metrics-collections': '10',
  // It has the endpoint that makes a checkpoint.
  dialect: 'qdrant',
  // Little enough for the panels to show how near it is.
  'memory-limit': String(512 * 2 ** 20),
  'log-level': 'error',
};

/** @returns {Promise<string | {skipped: string}>} what was seen */
export async function checkDashboard() {
  const programs = await findPrometheus();
  if ('missing' in programs) return { skipped: programs.missing };
  await mustRun('dashboard-rules', programs.promtool, ['check', 'rules', rules]);
  await mustRun('dashboard-rule-tests', programs.promtool, ['test', 'rules', ...ruleTests]);
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-dashboard-'));
  try {
    await checkGuide(programs.promtool, folder);
    const { panels, statuses } = await watchRun(programs.prometheus, folder);
    const answers = [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ');
    const charts = panels.filter(({ type }) => type !== 'row').length;
    const picture = await drawDashboard(panels, join(root, '.build', 'dashboard.png'));
    return `${charts} panels over a run with the answers ${answers}; ${picture}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What docs/guides/monitoring.md gives for Prometheus' settings: accepted as a whole file. */
async function checkGuide(promtool, folder) {
  const guide = readFileSync(join(root, 'docs', 'guides', 'monitoring.md'), 'utf8');
  const [, settings] = /^```yaml\n([^]*?)^```/m.exec(guide);
  const file = join(folder, 'prometheus.yml');
  // The file with the token is not on this machine.
  writeFileSync(file, settings);
  await mustRun('dashboard-guide', promtool, ['check', 'config', '--syntax-only', file]);
}

/** A server, a Prometheus and a run, and what the panels show of it. */
async function watchRun(program, folder) {
  const data = join(folder, 'data');
  const flags = Object.entries(SETTINGS).flatMap(([name, value]) => [`--${name}`, value]);
  const server = await startServer(launcher, ['--port', '0', '--data-dir', data, ...flags]);
  try {
    const scraped = join(folder, 'prometheus');
    mkdirSync(scraped);
    const prometheus = await startPrometheus(program, scraped, new URL(server.url).host, rules);
    try {
      return await watch(server.url, prometheus, data, join(folder, 'backup'));
    } finally {
      await prometheus.stop();
    }
  } finally {
    await server.stop();
  }
}

async function watch(url, prometheus, data, backup) {
  await sleep(MARGIN_SECONDS * 1000);
  const from = Date.now() / 1000;
  const [statuses] = await Promise.all([drive(url, RUN_SECONDS), backUp(data, backup)]);
  await sleep(MARGIN_SECONDS * 1000);
  for (const status of [200, 400, 404, 429, 'aborted'])
    if (!statuses.has(status)) throw new BuildError(`no request of the run was ${status}`);
  await requireRules(prometheus);
  const range = { from, to: Date.now() / 1000, step: 1 };
  return { statuses, panels: await queryPanels(readDashboard(), prometheus, range) };
}

/** A backup in the middle of the run. */
async function backUp(data, backup) {
  await sleep((RUN_SECONDS / 2) * 1000);
  const flags = ['--data-dir', data, '--to', backup];
  await mustRun('dashboard-backup', process.execPath, [launcher, 'backup', ...flags]);
}

/** Every rule is evaluated, every scrape was read, and a run without faults raises no alert. */
async function requireRules(prometheus) {
  const errors = await prometheus.scrapeErrors();
  if (errors.length > 0) throw new BuildError(`Prometheus cannot read /metrics: ${errors.join(', ')}`);
  for (const { name, state, health, lastError } of await prometheus.rules()) {
    if (health !== 'ok') throw new BuildError(`the rule ${name} is ${health}: ${lastError}`);
    if (state === 'firing') throw new BuildError(`the alert ${name} fires in a run without faults`);
  }
}
