/** The load generator of `crates/load` as child processes, one for each kind of client. */
import { spawn } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * @typedef {object} Request
 * @property {string} label its figures are with those of the same label
 * @property {string} method
 * @property {string} path
 * @property {string} [body] JSON
 */

/**
 * @typedef {object} Traffic who sends the requests: `Traffic` of crates/load/src/plan.rs
 * @property {'closed' | 'open' | 'probe' | 'trickle' | 'silent'} kind
 */

/**
 * @typedef {object} Report what `Tally::report` of crates/load/src/tally.rs writes
 * @property {number} seconds
 * @property {Group} all
 * @property {Record<string, Group>} labels
 * @property {Record<string, number>} failures
 * @property {number} unsent
 * @property {{opened: number, refused: number, closed_by_server: number, open_at_end: number}} connections
 * @property {number} sent_bytes
 * @property {number} received_bytes
 */

/** @typedef {{waited: Times, statuses: Record<string, Times>, failed: number, unanswered: number}} Group */
/** @typedef {{count: number, sent: number, latency: Percentiles, service: Percentiles}} Times from due, and from sent, in ms */
/** @typedef {{p50: number, p99: number, p999: number, max: number, mean: number}} Percentiles */

/** Starts clients, and ends those that are left. */
export class Generator {
  #binary;
  #folder;
  #running = new Set();
  #count = 0;

  /**
   * @param {string} binary of {@link file://../compiled.mjs}
   * @param {string} folder for plans
   */
  constructor(binary, folder) {
    this.#binary = binary;
    this.#folder = folder;
  }

  /**
   * Starts clients and resolves when their connections stand. Without `seconds` they go on until they are stopped.
   *
   * @param {{url: string}} server
   * @param {Traffic} traffic
   * @param {Request[]} requests
   * @param {{token?: string, seconds?: number, warmUpSeconds?: number}} [how]
   * @returns {Promise<{report: Promise<Report>, stop: () => Promise<Report>}>}
   */
  async start(server, { kind, ...rest }, requests, { token, seconds, warmUpSeconds = 0 } = {}) {
    const url = new URL(server.url);
    const { address, family } = await lookup(url.hostname.replace(/^\[|\]$/g, ''));
    const plan = {
      address: `${family === 6 ? `[${address}]` : address}:${url.port || 80}`,
      host: url.host,
      token: token || null,
      seconds,
      warm_up_seconds: warmUpSeconds,
      requests,
      traffic: { [kind]: rest },
    };
    const path = join(this.#folder, `plan-${this.#count++}.json`);
    writeFileSync(path, JSON.stringify(plan));
    const child = spawn(this.#binary, [path], { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#running.add(child);
    const { started, report } = linesOf(child);
    report.finally(() => this.#running.delete(child)).catch(() => undefined);
    try {
      await started;
    } finally {
      rmSync(path);
    }
    const stop = () => {
      child.stdin.end();
      return report;
    };
    return { report, stop };
  }

  /** Runs clients to their end. */
  async run(server, traffic, requests, how) {
    const { report } = await this.start(server, traffic, requests, how);
    return report;
  }

  /** Kills those that run. */
  close() {
    for (const child of this.#running) child.kill('SIGKILL');
  }
}

/** The two lines of a generator. */
function linesOf(child) {
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
  // One that has ended cannot be stopped any more.
  child.stdin.on('error', () => undefined);
  const next = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`the load generator ended early: ${errors.trim() || 'without an error'}`);
    return JSON.parse(value);
  };
  const failed = new Promise((_, reject) => child.once('error', reject));
  failed.catch(() => undefined);
  const started = Promise.race([next(), failed]);
  const report = started.then(() => Promise.race([next(), failed]));
  report.catch(() => undefined);
  return { started, report };
}
