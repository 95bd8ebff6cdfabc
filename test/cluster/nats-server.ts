/** NATS servers of a test, on free ports, with their files in a temporary folder. */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
    const ports = await freePorts(count);
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

async function freePorts(count: number): Promise<Ports[]> {
  const listeners = await Promise.all(Array.from({ length: count * 2 }, listening));
  const ports = listeners.map((listener) => (listener.address() as AddressInfo).port);
  await Promise.all(listeners.map((listener) => new Promise((resolve) => listener.close(resolve))));
  return Array.from({ length: count }, (_, at) => ({ client: ports[2 * at]!, route: ports[2 * at + 1]! }));
}

function listening(): Promise<ReturnType<typeof createServer>> {
  return new Promise((resolve, reject) => {
    const listener = createServer();
    listener.once('error', reject);
    listener.listen(0, '127.0.0.1', () => {
      resolve(listener);
    });
  });
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
