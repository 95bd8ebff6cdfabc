/** Three log servers as processes of this machine, which sync every record before they acknowledge it. */
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { goTool } from '../../scripts/build/go-tool.mjs';
import { freePorts } from '../../scripts/free-ports.mjs';
import { LOG_SERVER } from '../../scripts/long/cluster.mjs';
import { until } from './until.mjs';

const COUNT = 3;

/**
 * The program of the log servers: that of KITHDB_NATS_SERVER, or one that Go builds.
 *
 * @returns {Promise<string>} its path
 */
export async function logServerProgram() {
  const given = process.env.KITHDB_NATS_SERVER;
  if (given) return given;
  const { path, missing } = await goTool('nats-server', LOG_SERVER);
  if (missing !== undefined) throw new Error(`${missing}; KITHDB_NATS_SERVER may name one`);
  return path;
}

class LogServer {
  #program;
  #configuration;
  #child = null;

  constructor(program, name, ports, configuration) {
    this.#program = program;
    this.#configuration = configuration;
    this.name = name;
    this.ports = ports;
  }

  get pid() {
    return this.#child?.pid;
  }

  get isRunning() {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  start() {
    const child = spawn(this.#program, ['-c', this.#configuration], { stdio: 'ignore' });
    const end = () => child.kill('SIGKILL');
    // A caller that ends must not leave it behind.
    process.once('exit', end);
    child.once('exit', () => process.off('exit', end));
    this.#child = child;
  }

  async kill() {
    if (!this.isRunning) return;
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGKILL');
    await ended;
  }

  /** What it says of itself at a path of its monitor; null where it does not answer, or is not well. */
  async monitored(path) {
    try {
      const response = await fetch(`http://127.0.0.1:${this.ports.monitor}${path}`, {
        signal: AbortSignal.timeout(2000),
      });
      return response.ok ? await response.json() : null;
    } catch {
      return null;
    }
  }
}

export class LogServers {
  #servers;

  /**
   * Starts them and waits until all have caught up.
   *
   * @param {string} program
   * @param {string} folder for their files
   */
  static async start(program, folder) {
    const ports = await freePorts(3 * COUNT);
    const routes = Array.from({ length: COUNT }, (_, at) => `"nats-route://127.0.0.1:${ports[3 * at + 1]}"`);
    const servers = Array.from({ length: COUNT }, (_, at) => {
      const [client, route, monitor] = ports.slice(3 * at);
      const name = `log-${at}`;
      const store = join(folder, name);
      mkdirSync(store);
      const configuration = join(folder, `${name}.conf`);
      const lines = [
        `server_name: ${name}`,
        `listen: "127.0.0.1:${client}"`,
        `http: "127.0.0.1:${monitor}"`,
        `jetstream { store_dir: "${store}", sync_interval: always }`,
        `cluster { name: bench, listen: "127.0.0.1:${route}", routes: [${routes.join(', ')}] }`,
      ];
      writeFileSync(configuration, lines.join('\n'));
      return new LogServer(program, name, { client, monitor }, configuration);
    });
    for (const server of servers) server.start();
    const all = new LogServers(servers);
    try {
      await all.untilHealthy();
    } catch (error) {
      await all.stop();
      throw error;
    }
    return all;
  }

  constructor(servers) {
    this.#servers = servers;
  }

  /** As the setting of a node has them. */
  get urls() {
    return this.#servers.map(({ ports }) => `nats://127.0.0.1:${ports.client}`).join(',');
  }

  get pids() {
    return this.#servers.filter(({ isRunning }) => isRunning).map(({ pid }) => pid);
  }

  /** Waits until each has caught up with the others in every stream, by its own word. */
  async untilHealthy() {
    await until('log servers that are well', async () => {
      const answers = await Promise.all(this.#servers.map((server) => server.monitored('/healthz')));
      return answers.every((answer) => answer?.status === 'ok');
    });
  }

  /** The server that leads a stream. */
  async leaderOf(stream) {
    let leader;
    await until(`a leader of ${stream}`, async () => {
      for (const server of this.#servers) {
        const report = await server.monitored('/jsz?accounts=1&streams=1');
        const streams = (report?.account_details ?? []).flatMap((account) => account.stream_detail ?? []);
        const name = streams.find((one) => one.name === stream)?.cluster?.leader;
        leader = this.#servers.find((one) => one.name === name && one.isRunning);
        if (leader !== undefined) return true;
      }
      return false;
    });
    return leader;
  }

  async stop() {
    await Promise.all(this.#servers.map((server) => server.kill()));
  }
}
