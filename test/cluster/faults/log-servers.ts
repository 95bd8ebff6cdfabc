/** Three log servers as processes, with links between them that can be cut. They sync every record before they acknowledge it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../until';
import { NATS_SERVER } from '../nats-server';
import { Child } from './child';
import { emptyFolder } from './files';
import { Link } from './link';
import { freePorts } from '../../free-ports';

const COUNT = 3;
/** A server that starts has caught up before. */
const PATIENCE_MS = 20_000;
/** Nothing listens there: servers that would reach each other past the links fail to. */
const NOWHERE = '127.0.0.1:1';

interface Ports {
  readonly client: number;
  readonly route: number;
  readonly monitor: number;
}

/** The leader of each stream by the names of servers, and of the group of all servers. */
interface Leaders {
  readonly meta: string | undefined;
  readonly streams: ReadonlyMap<string, string>;
}

export class LogServer {
  readonly child: Child;
  /** What it said of its health last; undefined where it was well, or did not answer. */
  illness: string | undefined;
  #isHalted = false;

  constructor(
    readonly name: string,
    readonly ports: Ports,
    /** Its files. */
    readonly store: string,
    private readonly configuration: string,
    output: string,
  ) {
    this.child = new Child(output);
  }

  start(): void {
    this.child.start({ command: NATS_SERVER, args: ['-c', this.configuration] });
  }

  async kill(): Promise<void> {
    this.#isHalted = false;
    await this.child.kill();
  }

  /** Halts it, or lets it go on. */
  halt(isHalted: boolean): void {
    this.#isHalted = isHalted;
    this.child.signal(isHalted ? 'SIGSTOP' : 'SIGCONT');
  }

  get isHalted(): boolean {
    return this.#isHalted;
  }

  /** Whether it has caught up with the others in every stream, by its own word. */
  async isHealthy(): Promise<boolean> {
    const { isOk, body } = await this.#monitored('/healthz');
    this.illness = isOk ? undefined : `${this.name}: ${JSON.stringify(body)}`;
    return isOk;
  }

  /** As this server knows them; undefined where it does not answer. */
  async leaders(): Promise<Leaders | undefined> {
    const { isOk, body } = await this.#monitored('/jsz?accounts=1&streams=1');
    const found = (isOk ? body : undefined) as
      | {
          readonly meta_cluster?: { readonly leader?: string };
          readonly account_details?: readonly {
            readonly stream_detail?: readonly { name: string; cluster?: { leader?: string } }[];
          }[];
        }
      | undefined;
    if (found === undefined) return undefined;
    const streams = (found.account_details ?? []).flatMap((account) => account.stream_detail ?? []);
    return {
      meta: found.meta_cluster?.leader,
      streams: new Map(streams.map(({ name, cluster }) => [name, cluster?.leader ?? ''])),
    };
  }

  async #monitored(path: string): Promise<{ readonly isOk: boolean; readonly body?: unknown }> {
    if (!this.child.isRunning || this.#isHalted) return { isOk: false };
    try {
      const response = await fetch(`http://127.0.0.1:${this.ports.monitor}${path}`, {
        signal: AbortSignal.timeout(2000),
      });
      return { isOk: response.ok, body: await response.json() };
    } catch {
      return { isOk: false };
    }
  }
}

export class LogServers {
  private constructor(
    readonly servers: readonly LogServer[],
    /** The link from one server to another one, by their numbers. */
    private readonly routes: ReadonlyMap<string, Link>,
  ) {}

  static async start(folder: string): Promise<LogServers> {
    const numbers = await freePorts(3 * COUNT);
    const ports = Array.from({ length: COUNT }, (_, at) => {
      const [client, route, monitor] = numbers.slice(3 * at);
      return { client: client!, route: route!, monitor: monitor! };
    });
    const routes = new Map<string, Link>();
    for (const from of ports.keys()) {
      for (const [to, { route }] of ports.entries()) {
        if (from !== to) routes.set(`${from}>${to}`, await Link.to(route));
      }
    }
    const servers = ports.map((own, number) => {
      const name = `log-${number}`;
      const store = join(folder, name);
      mkdirSync(store);
      const configuration = join(folder, `${name}.conf`);
      const others = [...routes].filter(([key]) => key.startsWith(`${number}>`)).map(([, link]) => link.port);
      writeFileSync(configuration, configurationOf(name, own, store, others));
      return new LogServer(name, own, store, configuration, join(folder, `${name}.out`));
    });
    const all = new LogServers(servers, routes);
    for (const server of servers) server.start();
    await all.untilHealthy();
    return all;
  }

  /** All that run are in the cluster and have caught up. */
  async untilHealthy(): Promise<void> {
    await until(
      async () => (await Promise.all(this.servers.map((one) => one.isHealthy()))).every(Boolean),
      50,
    );
  }

  /**
   * As `untilHealthy`; a server that is not healthy after a while, while both others are, is replaced by an empty one, as its
   * operator would do. Resolves with how many were replaced.
   */
  async untilRepaired(): Promise<number> {
    const healthOf = (): Promise<boolean[]> => Promise.all(this.servers.map((one) => one.isHealthy()));
    const sinceMs = performance.now();
    let replaced = 0;
    await until(
      async () => {
        const health = await healthOf();
        if (health.every(Boolean)) return true;
        const ill = this.servers[health.indexOf(false)];
        const isAlone = health.filter(Boolean).length === COUNT - 1;
        if (ill === undefined || !isAlone || performance.now() - sinceMs < PATIENCE_MS || replaced > 0)
          return false;
        replaced += 1;
        await ill.kill();
        emptyFolder(ill.store);
        ill.start();
        return false;
      },
      200,
      () => this.servers.map((one) => one.illness),
    );
    return replaced;
  }

  /** Starts those that do not run. */
  startAll(): void {
    for (const server of this.servers) {
      if (server.isHalted) server.halt(false);
      if (!server.child.isRunning) server.start();
    }
  }

  named(name: string): LogServer {
    const server = this.servers.find((one) => one.name === name);
    if (server === undefined) throw new Error(`there is no log server ${name}`);
    return server;
  }

  /** The leader of a stream, or of all servers where no stream is named; waits until there is one. */
  async leader(stream?: string): Promise<LogServer> {
    let name: string | undefined;
    await until(async () => {
      for (const server of this.servers) {
        const leaders = await server.leaders();
        name = stream === undefined ? leaders?.meta : leaders?.streams.get(stream);
        // A server goes on to name a leader that is gone.
        if (name !== undefined && name !== '' && this.named(name).child.isRunning) return true;
      }
      return false;
    }, 50);
    return this.named(name ?? '');
  }

  /** The links between a server and the others, in the direction of who connects. */
  routesOf(server: LogServer): { readonly from: readonly Link[]; readonly to: readonly Link[] } {
    const number = this.servers.indexOf(server);
    const of = (matches: (key: string) => boolean): Link[] =>
      [...this.routes].filter(([key]) => matches(key)).map(([, link]) => link);
    return {
      from: of((key) => key.startsWith(`${number}>`)),
      to: of((key) => key.endsWith(`>${number}`)),
    };
  }

  get links(): readonly Link[] {
    return [...this.routes.values()];
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.kill()));
    await Promise.all(this.links.map((link) => link.close()));
  }
}

function configurationOf(name: string, ports: Ports, store: string, others: readonly number[]): string {
  const routes = others.map((port) => `"nats-route://127.0.0.1:${port}"`).join(', ');
  return [
    `server_name: ${name}`,
    `listen: "127.0.0.1:${ports.client}"`,
    `http: "127.0.0.1:${ports.monitor}"`,
    `jetstream { store_dir: "${store}", sync_interval: always }`,
    `cluster {`,
    `  name: faults, listen: "127.0.0.1:${ports.route}", no_advertise: true, advertise: "${NOWHERE}"`,
    `  routes: [${routes}]`,
    `}`,
  ].join('\n');
}
