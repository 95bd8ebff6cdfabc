/** A TCP connection between two processes that a test can make silent, in one direction or in both, or cut. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** What passes: all, nothing, or what one side sends only. The side that connects is the client. */
export type Passage = 'both' | 'none' | 'of the client' | 'of the server';

/** One connection through a link. */
interface Pair {
  readonly client: Socket;
  /** Absent while the link was silent since the client connected. */
  server?: Socket;
}

/**
 * A proxy in front of one port. What is not let through waits at the sender, as for a network that loses all packets for a
 * while: it comes through in its order later, or the connection is cut.
 */
export class Link {
  readonly #pairs = new Set<Pair>();
  readonly #proxy: Server;
  #passage: Passage = 'both';

  private constructor(private readonly target: number) {
    this.#proxy = createServer({ pauseOnConnect: true }, (client) => {
      this.#accept(client);
    });
  }

  static async to(target: number): Promise<Link> {
    const link = new Link(target);
    await new Promise<void>((resolve, reject) => {
      link.#proxy.once('error', reject);
      link.#proxy.listen(0, '127.0.0.1', resolve);
    });
    return link;
  }

  /** Where to connect to. */
  get port(): number {
    return (this.#proxy.address() as AddressInfo).port;
  }

  /** How many connections there are. */
  get connections(): number {
    return this.#pairs.size;
  }

  let(passage: Passage): void {
    this.#passage = passage;
    for (const pair of this.#pairs) this.#apply(pair);
  }

  /** Cuts what is connected. */
  cut(): void {
    for (const { client, server } of this.#pairs) {
      client.destroy();
      server?.destroy();
    }
    this.#pairs.clear();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#proxy.close(resolve));
  }

  #accept(client: Socket): void {
    const pair: Pair = { client };
    this.#pairs.add(pair);
    client.setNoDelay(true);
    this.#endWith(pair, client);
    this.#apply(pair);
  }

  #apply(pair: Pair): void {
    const { client } = pair;
    if (this.#passage !== 'none') pair.server ??= this.#connect(pair);
    const { server } = pair;
    if (server === undefined) return;
    flow(client, this.#passage === 'both' || this.#passage === 'of the client');
    flow(server, this.#passage === 'both' || this.#passage === 'of the server');
    if (this.#passage === 'both' && (client.destroyed || server.destroyed)) this.#end(pair);
  }

  #connect(pair: Pair): Socket {
    const server = connect({ host: '127.0.0.1', port: this.target, noDelay: true });
    const { client } = pair;
    client.on('data', (bytes) => {
      if (!server.write(bytes)) client.pause();
    });
    server.on('data', (bytes) => {
      if (!client.write(bytes)) server.pause();
    });
    client.on('drain', () => {
      if (this.#passage === 'both' || this.#passage === 'of the server') server.resume();
    });
    server.on('drain', () => {
      if (this.#passage === 'both' || this.#passage === 'of the client') client.resume();
    });
    this.#endWith(pair, server);
    return server;
  }

  /** The other side learns of the end when everything passes. */
  #endWith(pair: Pair, socket: Socket): void {
    socket.on('error', () => undefined);
    const end = (): void => {
      if (this.#passage === 'both') this.#end(pair);
    };
    socket.on('end', end);
    socket.on('close', end);
  }

  #end(pair: Pair): void {
    this.#pairs.delete(pair);
    pair.client.destroySoon();
    pair.server?.destroySoon();
  }
}

function flow(socket: Socket, passes: boolean): void {
  if (passes) socket.resume();
  else socket.pause();
}
