import fc from 'fast-check';
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

  it('starts what waits although a slow request of before is answered, which had waited itself', () => {
    haveSeveral();
    const light = request(LIGHT, 'light');
    many(HEAVY, 'before', 3);
    const slow = request(HEAVY, 'slow');
    expect(queue.waiting).toBe(1);
    now = 5;
    light.end();
    expect(started.at(-1)).toBe('slow');
    now = 10;
    const next = many(HEAVY, 'next', 5);
    expect(queue.waiting).toBe(1);
    slow.end();
    next[0]?.end();
    expect([started.at(-1), queue.waiting]).toEqual(['next4', 0]);
  });

  it('starts each request once in whatever order requests come, are answered and are given up', () => {
    const comes = fc.record({ client: fc.constantFrom(HEAVY, HEAVY, LIGHT), after: fc.nat(3) });
    const ends = fc.record({ ends: fc.nat(), after: fc.nat(3) });
    const events = fc.array(fc.oneof({ arbitrary: comes, weight: 3 }, { arbitrary: ends, weight: 2 }), {
      maxLength: 80,
    });
    const runs = (steps: typeof events extends fc.Arbitrary<infer Steps> ? Steps : never): void => {
      const [made, open, gone]: [string[], FakeRequest[], string[]] = [[], [], []];
      started.length = 0;
      for (const step of steps) {
        now += step.after;
        if ('client' in step) {
          made.push(`request ${String(made.length)}`);
          open.push(request(step.client, made.at(-1) ?? ''));
          continue;
        }
        const [one] = open.splice(step.ends % Math.max(open.length, 1), 1);
        if (one !== undefined && !started.includes(one.name)) {
          gone.push(one.name);
        }
        one?.end();
      }
      // The oldest runs, and its end starts what waits.
      for (const one of open) {
        expect(started).toContain(one.name);
        one.end();
      }
      expect(queue.waiting).toBe(0);
      expect([...started, ...gone].toSorted()).toEqual(made.toSorted());
    };
    fc.assert(fc.property(events, runs), { numRuns: 1000 });
  });

  it('keeps no timer for a request whose client has disconnected before it could wait', () => {
    const set = jest.spyOn(global, 'setInterval');
    const clear = jest.spyOn(global, 'clearInterval');
    try {
      haveSeveral();
      many(HEAVY, 'heavy', 4);
      const gone = new FakeRequest('gone', started);
      jest.spyOn(gone, 'whenOver').mockImplementation((callback) => {
        callback();
      });
      queue.add(HEAVY, gone);
      const made: unknown[] = set.mock.results.map(({ value }) => value as unknown);
      expect([queue.waiting, made.length]).toEqual([0, 1]);
      expect(clear.mock.calls.map(([timer]) => timer)).toEqual(made);
    } finally {
      set.mockRestore();
      clear.mockRestore();
    }
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
