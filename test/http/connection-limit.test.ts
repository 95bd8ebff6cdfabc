import { EventEmitter } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { ConnectionLimit } from '../../src/http/connection-limit';

const LIMIT = 8;

/** A connection of which a test says what it does. */
class Connection extends EventEmitter {
  readonly localAddress = '192.0.2.99';
  isCut = false;

  constructor(
    readonly remotePort: number,
    readonly remoteAddress: string | undefined,
  ) {
    super();
  }

  destroy(): void {
    this.isCut = true;
  }
}

describe('the connection that makes room for a new one', () => {
  let server: EventEmitter;
  let limit: ConnectionLimit;
  let ports: number;
  beforeEach(() => {
    jest.useFakeTimers();
    server = new EventEmitter();
    limit = new ConnectionLimit(LIMIT, () => undefined);
    limit.watch(server as unknown as Server);
    ports = 0;
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  function open(address = '192.0.2.1'): Connection {
    ports += 1;
    const connection = new Connection(ports, address);
    server.emit('connection', connection);
    return connection;
  }

  /** A request of a connection; gives what ends it. */
  function request(connection: Connection): () => void {
    const response = new EventEmitter();
    limit.began({ socket: connection } as unknown as IncomingMessage, response as unknown as ServerResponse);
    return () => response.emit('close');
  }

  const cut = (connections: readonly Connection[]): readonly number[] =>
    connections.filter(({ isCut }) => isCut).map(({ remotePort }) => remotePort);

  it('is the one of those that send nothing that was opened first, not the new one', () => {
    const all = Array.from({ length: LIMIT }, () => open());
    all.push(open());
    expect(cut(all)).toEqual([1]);
  });

  it('is the one that is idle for longest', () => {
    const all = Array.from({ length: LIMIT }, () => open());
    const ends = all.map(request);
    // The third was answered first, then the others in their order.
    for (const at of [2, 0, 1, 3, 4, 5, 6, 7]) {
      jest.advanceTimersByTime(10);
      ends[at]?.();
    }
    jest.advanceTimersByTime(2000);
    all.push(open());
    expect(cut(all)).toEqual([3]);
  });

  it('is none that has a request', () => {
    const all = Array.from({ length: LIMIT }, () => open());
    all.forEach(request);
    const newest = open();
    expect(cut([...all, newest])).toEqual([newest.remotePort]);
  });

  it('is none of those that are closed, where several without an address had the same ends', () => {
    for (let round = 0; round < 3 * LIMIT; round += 1) {
      // Their clients have reset them before they were accepted.
      const reset = [new Connection(0, undefined), new Connection(0, undefined)];
      for (const connection of reset) server.emit('connection', connection);
      for (const connection of reset) connection.emit('close');
    }
    const all = Array.from({ length: LIMIT + 2 }, () => open());
    expect(cut(all)).toEqual([1, 2]);
  });

  it('is one of the network with most connections', () => {
    const few = [open('192.0.2.7'), open('192.0.2.7')];
    const many = Array.from({ length: LIMIT - 2 }, () => open());
    const newest = open('192.0.2.8');
    expect(cut([...few, ...many, newest])).toEqual([many[0]?.remotePort]);
  });
});
