/** Prometheus: found on this machine or taken from Debian, started over one server, and asked for series. */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError, output, run, tail } from '../../build/process.mjs';
import { isCurrent, remember, root } from '../../build/tree.mjs';
import { answering, stopper } from '../../foreign-server.mjs';
import { freePorts } from '../../free-ports.mjs';

const SCRAPE_SECONDS = 1;
const folder = join(root, '.build', 'prometheus');
const unpacked = join(folder, 'files', 'usr', 'bin');

/**
 * The programs of Prometheus: those in the PATH, else those of Debian's package, which is unpacked once and not installed.
 *
 * @returns {Promise<{prometheus: string, promtool: string} | {missing: string}>}
 */
export async function findPrometheus() {
  const isThere = async (name) => (await output(name, ['--version'])) !== null;
  if ((await isThere('prometheus')) && (await isThere('promtool')))
    return { prometheus: 'prometheus', promtool: 'promtool' };
  const programs = { prometheus: join(unpacked, 'prometheus'), promtool: join(unpacked, 'promtool') };
  if (isCurrent('prometheus', 'debian') && (await isThere(programs.prometheus))) return programs;
  const missing = await unpack();
  return missing === undefined ? programs : { missing };
}

/** Why the package could not be had, if so. */
async function unpack() {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const got = await run('prometheus-download', 'apt-get', ['download', 'prometheus'], { cwd: folder });
  if (got.code === 127) return 'there is no Prometheus, and no apt-get to download it with';
  const last = (log) => tail(log).split('\n').at(-1);
  if (got.code !== 0) return `there is no Prometheus, and Debian has none to download: ${last(got.log)}`;
  const archive = readdirSync(folder).find((name) => name.endsWith('.deb'));
  const done = await run('prometheus-unpack', 'dpkg-deb', ['-x', archive, 'files'], { cwd: folder });
  if (done.code !== 0) return `Prometheus could not be unpacked: ${last(done.log)}`;
  remember('prometheus', 'debian');
  return undefined;
}

/**
 * Starts a Prometheus that scrapes one server every second, with the alert rules in `rules`.
 *
 * @param {string} program
 * @param {string} data a folder that is there, for its series
 * @param {string} target the server, as `host:port`
 * @param {string} rules a file
 */
export async function startPrometheus(program, data, target, rules) {
  const config = join(data, 'prometheus.json');
  // YAML has JSON in it.
  const scrape = { job_name: 'kithdb', static_configs: [{ targets: [target] }] };
  const global = { scrape_interval: `${SCRAPE_SECONDS}s`, evaluation_interval: '1s' };
  writeFileSync(config, JSON.stringify({ global, rule_files: [rules], scrape_configs: [scrape] }));
  const [port] = await freePorts(1);
  const address = `127.0.0.1:${port}`;
  const flags = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(data, 'series')}`,
    `--web.listen-address=${address}`,
  ];
  const child = spawn(program, flags, { stdio: ['ignore', 'ignore', 'pipe'] });
  const stop = stopper(child);
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (log = (log + text).slice(-4000)));
  child.once('error', (error) => (log += error.message));
  const url = `http://${address}`;
  await answering('Prometheus', `${url}/-/ready`, child, () => log);
  return new Prometheus(url, stop);
}

/** @typedef {{labels: Record<string, string>, values: [time: number, value: number][]}} Series */

/** A Prometheus that runs. */
class Prometheus {
  #url;
  /** Ends it. */
  stop;

  constructor(url, stop) {
    this.#url = url;
    this.stop = stop;
  }

  /**
   * The series of an expression over a time; a BuildError says that it was refused.
   *
   * @param {string} expression
   * @param {{from: number, to: number, step: number}} range in seconds
   * @returns {Promise<Series[]>}
   */
  async range(expression, { from, to, step }) {
    const { result } = await this.#get('query_range', { query: expression, start: from, end: to, step });
    return result.map(({ metric, values }) => ({
      labels: metric,
      values: values.map(([time, value]) => [time, Number(value)]),
    }));
  }

  /** The values that a label has in the series of a metric. */
  labelValues(label, metric) {
    return this.#get(`label/${label}/values`, { 'match[]': metric });
  }

  /** Why the last scrapes of targets failed, those that did. */
  async scrapeErrors() {
    const { activeTargets } = await this.#get('targets', {});
    return activeTargets.map(({ lastError }) => lastError).filter((error) => error !== '');
  }

  /** @returns {Promise<{name: string, state: string, health: string, lastError?: string}[]>} the alert rules */
  async rules() {
    const { groups } = await this.#get('rules', {});
    return groups.flatMap(({ rules }) => rules);
  }

  async #get(path, parameters) {
    const answer = await fetch(`${this.#url}/api/v1/${path}?${new URLSearchParams(parameters)}`);
    const { status, data, error } = await answer.json();
    if (status !== 'success')
      throw new BuildError(`Prometheus refuses ${JSON.stringify(parameters)}: ${error}`);
    return data;
  }
}

/**
 * What Grafana makes of `$__rate_interval`, in seconds, at a distance of points of `step` seconds, where its data source has
 * a scrape interval of two seconds: figures of the server may be so old.
 */
export function rateInterval(step) {
  const interval = 2 * SCRAPE_SECONDS;
  return Math.max(4 * interval, step + interval);
}
