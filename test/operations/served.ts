import { ServerChild } from '../crash/server-child';
import { ServerHere } from './server-here';

/** What a point of these tests holds. */
export interface StoredPoint {
  readonly id: number;
  readonly payload: { readonly n: number };
  readonly vector: readonly number[];
}

/** A real server with a few calls. */
export class Served {
  private constructor(
    readonly url: string,
    readonly stop: () => Promise<void>,
    readonly kill: () => Promise<void>,
  ) {}

  /** A server in a process of its own. */
  static readonly on = async (dataDir: string): Promise<Served> => {
    const child = new ServerChild(dataDir);
    const end = (signal: 'SIGTERM' | 'SIGKILL') => async (): Promise<void> => {
      child.signal(signal);
      await child.exit;
    };
    return new Served(await child.ready, end('SIGTERM'), end('SIGKILL'));
  };

  /** A server in this process. It cannot be killed: `kill` stops it. */
  static readonly here = async (dataDir: string): Promise<Served> => {
    const server = await ServerHere.start(dataDir);
    const stop = (): Promise<void> => server.stop();
    return new Served(server.url, stop, stop);
  };

  /** The `result` of a call that must succeed. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as supertest has it: tests know what they asked for
  async call(method: string, path: string, body?: unknown): Promise<any> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    if (!response.ok) {
      throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    }
    return 'result' in answer ? answer['result'] : answer;
  }

  async create(name: string): Promise<void> {
    await this.call('PUT', `/collections/${name}`, { vectors: { size: 4, distance: 'Euclid' } });
  }

  /** Points `from` to `to`, the latter left out; `n` is the number of the generation. */
  async upsert(name: string, from: number, to: number, n = 0): Promise<void> {
    const points = Array.from({ length: to - from }, (_, at) => pointOf(from + at, n));
    await this.call('PUT', `/collections/${name}/points`, { points });
  }

  /** All points by id. */
  async points(name: string): Promise<readonly StoredPoint[]> {
    const body = { limit: 100_000, with_payload: true, with_vector: true };
    return (await this.call('POST', `/collections/${name}/points/scroll`, body)).points;
  }
}

/** The point that {@link Served.upsert} stores. */
export function pointOf(id: number, n: number): StoredPoint {
  return { id, payload: { n }, vector: [id % 7, id % 11, n, 1] };
}
