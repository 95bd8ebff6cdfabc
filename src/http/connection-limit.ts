import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Counter } from './admission-memory';
import { canonicalAddress, networkOf } from './client-address';
import { LinkedList, type Entry } from './linked-list';

/** An open connection. */
interface Connection {
  /** Over TLS the socket above it, once its handshake is over; undefined when it does not count any more. */
  socket: Socket | undefined;
  readonly ends: string;
  readonly network: Network;
  /** Its entry among those of its network that are unused or idle; removed while it has requests. */
  place: Entry<Connection> | undefined;
  /** Requests that are not answered whole. */
  requests: number;
  /** When the last of them was answered, in milliseconds. */
  idleSince: number;
}

/** A property and no `WeakMap`, as for requests (`listener.ts`). */
const CONNECTION = Symbol('connection');

interface CountedSocket extends Socket {
  [CONNECTION]?: Connection;
}

/** The connections of one network. */
interface Network {
  readonly name: string;
  open: number;
  /** Those that have not sent a whole head of a request, the oldest first. */
  readonly unused: LinkedList<Connection>;
  /** Those whose requests are all answered, idle for longest first. */
  readonly idle: LinkedList<Connection>;
}

/** The connections of all event loops that share a limit. */
export interface OtherConnections {
  /** How many are open, those of this event loop included. */
  readonly open: Counter;
  /** Has another event loop cut a connection without a request; false where there is none. */
  cutOne(): Promise<boolean>;
}

/** At the limit, the part of a network's connections that may be without a first request while others are idle. */
const UNUSED_PART = 1 / 8;
/** A connection that had a request within this time is cut after those that never had one. */
const IDLE_MS = 1000;

/**
 * Keeps the number of open connections below a limit. At the limit one without a request makes room for the new one: of
 * the network with most connections the one that is idle for longest, or, when many have never had a request, the oldest
 * of those. So clients that open connections and send nothing lose them to clients that send. A new connection is cut only
 * when every other one has a request.
 *
 * A connection counts for the peer of its socket: what headers say is not known before the first request.
 */
export class ConnectionLimit {
  #open = 0;
  readonly #networks = new Map<string, Network>();
  /** By both ends, to find the connection of a TLS socket: the last one of those with the same ends. */
  readonly #byEnds = new Map<string, Connection>();

  constructor(
    private readonly limit: number,
    /** Called for each connection that is cut. */
    private readonly onCut: () => void,
    /** The other event loops of the process, where the limit is that of all. */
    private readonly others?: OtherConnections,
  ) {}

  /** Counts the connections of a server from its start. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.#add(socket);
    });
    server.on('secureConnection', (socket: CountedSocket) => {
      const connection = this.#byEnds.get(endsOf(socket));
      if (connection !== undefined) {
        connection.socket = socket;
        socket[CONNECTION] = connection;
      }
    });
  }

  /** Notes that a request has arrived; it is over when its response is closed. */
  began({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = (socket as CountedSocket)[CONNECTION];
    if (connection === undefined) {
      return;
    }
    connection.requests += 1;
    connection.place?.remove();
    response.on('close', () => {
      connection.requests -= 1;
      if (connection.requests === 0 && connection.socket !== undefined) {
        connection.idleSince = performance.now();
        connection.place = connection.network.idle.add(connection);
      }
    });
  }

  #add(socket: CountedSocket): void {
    const ends = endsOf(socket);
    const network = this.#networkOf(socket);
    const connection: Connection = { socket, ends, network, place: undefined, requests: 0, idleSince: 0 };
    socket[CONNECTION] = connection;
    // Others may have the same ends: those whose end has not been noticed, and all that have no address any more.
    this.#byEnds.set(ends, connection);
    this.#open += 1;
    network.open += 1;
    connection.place = network.unused.add(connection);
    socket.once('close', () => {
      this.#forget(connection);
    });
    const open = this.others?.open.add(1) ?? this.#open;
    if (open > this.limit) {
      this.#makeRoomFor(connection);
    }
  }

  /** Cuts the connection without a request that would make room for a new one; false where there is none. */
  cutOne(): boolean {
    const victim = this.#victim();
    if (victim !== undefined) {
      this.#cut(victim);
    }
    return victim !== undefined;
  }

  #makeRoomFor(newest: Connection): void {
    const victim = this.#victim(newest);
    if (victim !== undefined || this.others === undefined) {
      this.#cut(victim ?? newest);
      return;
    }
    const cutOwn = (): void => {
      if (newest.socket !== undefined) this.#cut(newest);
    };
    this.others.cutOne().then((isCut) => {
      if (!isCut) cutOwn();
    }, cutOwn);
  }

  #cut(victim: Connection): void {
    const { socket } = victim;
    // Its descriptor is free at once, its event comes later.
    this.#forget(victim);
    socket?.destroy();
    this.onCut();
  }

  #networkOf(socket: Socket): Network {
    const name = networkOf(canonicalAddress(socket.remoteAddress ?? '') ?? '');
    let network = this.#networks.get(name);
    if (network === undefined) {
      network = { name, open: 0, unused: new LinkedList(), idle: new LinkedList() };
      this.#networks.set(name, network);
    }
    return network;
  }

  /** Does nothing for a connection that is forgotten already. */
  #forget(connection: Connection): void {
    const { ends, network } = connection;
    if (connection.socket === undefined) {
      return;
    }
    connection.socket = undefined;
    if (this.#byEnds.get(ends) === connection) {
      this.#byEnds.delete(ends);
    }
    this.#open -= 1;
    this.others?.open.add(-1);
    network.open -= 1;
    connection.place?.remove();
    if (network.open === 0) {
      this.#networks.delete(network.name);
    }
  }

  /** The connection that makes room for the newest one; undefined when every other one has a request. */
  #victim(newest?: Connection): Connection | undefined {
    let largest: Network | undefined;
    for (const network of this.#networks.values()) {
      const own = network === newest?.network ? 1 : 0;
      const without = network.unused.size - own + network.idle.size;
      if (without > 0 && network.open > (largest?.open ?? 0)) {
        largest = network;
      }
    }
    if (largest === undefined) {
      return undefined;
    }
    const idle = largest.idle.first?.value;
    const unused = largest.unused.first?.value;
    const older = unused === newest ? undefined : unused;
    const isFlooded = largest.unused.size > largest.open * UNUSED_PART;
    const isIdle = idle !== undefined && performance.now() - idle.idleSince >= IDLE_MS;
    return isIdle && !isFlooded ? idle : (older ?? idle);
  }
}

/** Both ends of a connection, which a TLS socket shares with the one below it. */
function endsOf({ remoteAddress = '', remotePort = 0, localAddress = '' }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}
