/** NATS servers of a test, on free ports, with their files in a temporary folder. */
import { jetstreamManager, type StreamAPI } from '@nats-io/jetstream';
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectToNats } from '../../src/cluster/log/nats-connection';
import { freePorts } from '../free-ports';
import type { Missing } from '../missing';
import { until } from '../until';

/** The program of the log servers. */
export const NATS_SERVER = process.env['KITHDB_NATS_SERVER'] ?? '.build/bin/nats-server';

/** Why no server can be started. */
export const isNoNats: Missing = existsSync(NATS_SERVER)
  ? undefined
  : 'npm run test:long -- cluster builds a nats-server';

interface Ports {
  readonly client: number;
  readonly route: number;
}

class NatsServer {
  #process: ChildProcess | undefined;

  constructor(
    readonly name: string,
    readonly port: number,
    readonly configuration: string,
  ) {}

  start(): void {
    this.#process = spawn(NATS_SERVER, ['-c', this.configuration], { stdio: 'ignore' });
  }

  async untilListening(): Promise<void> {
    await until(() => isListening(this.port), 20);
  }

  async kill(): Promise<void> {
    const running = this.#process;
    if (running?.exitCode !== null || running.signalCode !== null) return;
    const ended = new Promise((resolve) => running.once('exit', resolve));
    running.kill('SIGKILL');
    await ended;
  }
}

export class NatsServers {
  private constructor(
    readonly folder: string,
    readonly servers: readonly NatsServer[],
  ) {}

  /** Starts servers, which are a cluster where there are several. */
  static async start(
    count: number,
    { hasJetStream = true, maxPayload = 1024 * 1024 } = {},
  ): Promise<NatsServers> {
    const folder = await mkdtemp(join(tmpdir(), 'kithdb-nats-'));
    const numbers = await freePorts(2 * count);
    const ports = Array.from({ length: count }, (_, at) => ({
      client: numbers[2 * at]!,
      route: numbers[2 * at + 1]!,
    }));
    const servers: NatsServer[] = [];
    for (const [number, { client }] of ports.entries()) {
      const name = `log-${number}`;
      const path = join(folder, `${name}.conf`);
      const jetstream = hasJetStream ? [`jetstream { store_dir: "${join(folder, name)}" }`] : [];
      const lines = [
        `server_name: ${name}`,
        `listen: 127.0.0.1:${client}`,
        `max_payload: ${maxPayload}`,
        ...jetstream,
      ];
      await writeFile(path, [...lines, ...clusterLines(ports, number)].join('\n'));
      servers.push(new NatsServer(name, client, path));
    }
    const all = new NatsServers(folder, servers);
    for (const server of servers) server.start();
    await Promise.all(servers.map((server) => server.untilListening()));
    return all;
  }

  get addresses(): string[] {
    return this.servers.map(({ port }) => `127.0.0.1:${port}`);
  }

  /** The settings of a `kithdb serve` that is a node of a cluster over these servers, with two log groups. */
  nodeSettings(cluster: string): Record<string, string> {
    return {
      KITHDB_CLUSTER: this.addresses.map((address) => `nats://${address}`).join(','),
      KITHDB_CLUSTER_NAME: cluster,
      KITHDB_CLUSTER_LISTEN: '127.0.0.1:0',
      KITHDB_CLUSTER_LOG_GROUPS: '2',
      KITHDB_CLUSTER_LOG_COPIES: String(this.servers.length),
    };
  }

  /** Works on the streams of the servers, over a connection of its own. */
  async withStreams<T>(work: (streams: StreamAPI) => Promise<T>): Promise<T> {
    const connection = await connectToNats({ servers: this.addresses }, 'test', { timeoutMs: 5000 });
    try {
      return await work((await jetstreamManager(connection, { checkAPI: false })).streams);
    } finally {
      await connection.close();
    }
  }

  named(name: string): NatsServer {
    const server = this.servers.find((one) => one.name === name);
    if (server === undefined) throw new Error(`there is no server ${name}`);
    return server;
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.kill()));
    await rm(this.folder, { recursive: true, force: true });
  }
}

function clusterLines(ports: readonly Ports[], number: number): string[] {
  if (ports.length === 1) return [];
  const routes = ports.map(({ route }) => `"nats://127.0.0.1:${route}"`).join(', ');
  return [`cluster { name: test, listen: "127.0.0.1:${ports[number]?.route ?? 0}", routes: [${routes}] }`];
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const end = (is: boolean): void => {
      socket.destroy();
      resolve(is);
    };
    socket.once('connect', () => {
      end(true);
    });
    socket.once('error', () => {
      end(false);
    });
  });
}
