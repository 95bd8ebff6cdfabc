import type { Client } from '../../src/http/shares';
import { StartQueue, type Startable } from '../../src/http/start-queue';

const HEAVY: Client = { network: '10.0.0.1', credential: undefined };
const LIGHT: Client = { network: '10.0.0.1', credential: 'token 7' };

/** A request that notes its start, and ends when the test says so. */
class FakeRequest implements Startable {
  readonly #after: (() => void)[] = [];

  constructor(
    readonly name: string,
    private readonly started: string[],
  ) {}

  start(): void {
    this.started.push(this.name);
  }

  whenOver(callback: () => void): void {
    this.#after.push(callback);
  }

  end(): void {
    for (const callback of this.#after.splice(0)) {
      callback();
    }
  }
}

/** The order in which requests start (docs/admission.md). */
describe('StartQueue', () => {
  let now: number;
  let started: string[];
  let queue: StartQueue;
  /** As the chain of checks does. */
  const request = (client: Client, name: string): FakeRequest => {
    const made = new FakeRequest(name, started);
    if (queue.noteAlone(client)) {
      made.start();
    } else {
      queue.add(client, made);
    }
    return made;
  };
  const many = (client: Client, name: string, count: number): FakeRequest[] =>
    Array.from({ length: count }, (_, at) => request(client, `${name}${at}`));
  /** From here on there are several clients. */
  const haveSeveral = (): void => {
    request(LIGHT, 'first').end();
    request(HEAVY, 'second').end();
  };

  beforeEach(() => {
    now = 0;
    started = [];
    queue = new StartQueue(() => now);
  });

  it('lets all requests of one client alone start at once', () => {
    many(HEAVY, 'heavy', 600);
    expect([started.length, queue.waiting]).toEqual([600, 0]);
  });

  it('starts the request of a client that has none at once, and lets the next ones of the other wait', () => {
    many(HEAVY, 'heavy', 100);
    const light = request(LIGHT, 'light');
    expect(started.at(-1)).toBe('light');
    const next = many(HEAVY, 'next', 4);
    expect([started.at(-1), queue.waiting]).toEqual(['next2', 1]);
    next[0]?.end();
    expect([started.at(-1), queue.waiting]).toEqual(['next3', 0]);
    [light, ...next].forEach((one) => {
      one.end();
    });
  });

  it('takes the next one from the client that has fewest', () => {
    haveSeveral();
    const heavy = many(HEAVY, 'running', 4);
    const light = request(LIGHT, 'running');
    const waiting = [...many(HEAVY, 'heavy', 6), ...many(LIGHT, 'light', 2)];
    expect(queue.waiting).toBe(8);
    started.length = 0;
    heavy.slice(0, 3).forEach((one) => {
      one.end();
    });
    expect(started).toEqual(['light0', 'heavy0']);
    [...heavy, light, ...waiting].forEach((one) => {
      one.end();
    });
    expect([started.length, queue.waiting]).toEqual([8, 0]);
  });

  it('does not count a request that runs for long', async () => {
    haveSeveral();
    many(HEAVY, 'slow', 4);
    request(HEAVY, 'waits');
    expect(queue.waiting).toBe(1);
    now = 5;
    const starts = new Promise<void>((resolve) => {
      const poll = setInterval(() => {
        if (queue.waiting === 0) {
          clearInterval(poll);
          resolve();
        }
      }, 1);
    });
    await starts;
    expect(started.at(-1)).toBe('waits');
  });

  it('forgets a request whose client disconnects while it waits', () => {
    haveSeveral();
    const heavy = many(HEAVY, 'heavy', 4);
    const gone = request(HEAVY, 'gone');
    gone.end();
    expect(queue.waiting).toBe(0);
    heavy.forEach((one) => {
      one.end();
    });
    expect(started).not.toContain('gone');
  });

  it('has no limit again a second after the last request of another client', () => {
    const [heavy] = many(HEAVY, 'heavy', 1);
    request(LIGHT, 'light').end();
    heavy?.end();
    now = 1001;
    many(HEAVY, 'alone', 50);
    expect(queue.waiting).toBe(0);
  });
});
