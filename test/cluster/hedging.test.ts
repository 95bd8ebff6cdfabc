import { EngineError } from '../../src/engine/types';
import { MapDiffers, PeerUnreachable } from '../../src/cluster/peers/errors';
import { Hedging, type AskableReplica } from '../../src/cluster/peers/hedging';

/** A clock that a test moves, and timers by it. */
class Clock {
  now = 0;
  readonly #timers: { at: number; callback: () => void }[] = [];
  readonly delays: number[] = [];

  after = (ms: number, callback: () => void): (() => void) => {
    const timer = { at: this.now + ms, callback };
    this.delays.push(ms);
    this.#timers.push(timer);
    return () => void this.#timers.splice(this.#timers.indexOf(timer), Number(this.#timers.includes(timer)));
  };

  advance(ms: number): void {
    this.now += ms;
    for (const timer of this.#timers.filter(({ at }) => at <= this.now)) {
      this.#timers.splice(this.#timers.indexOf(timer), 1);
      timer.callback();
    }
  }
}

/** Questions that a test answers. */
class Questions {
  readonly asked: {
    readonly node: string;
    readonly signal: AbortSignal;
    readonly resolve: (answer: string) => void;
    readonly reject: (error: Error) => void;
  }[] = [];

  ask = ({ node }: AskableReplica, signal: AbortSignal): Promise<string> =>
    new Promise((resolve, reject) => this.asked.push({ node, signal, resolve, reject }));

  get nodes(): string[] {
    return this.asked.map(({ node }) => node);
  }
}

const A = { node: 'a' };
const B = { node: 'b' };
const C = { node: 'c' };
const gone = (node: string): PeerUnreachable => new PeerUnreachable(node, 'gone');
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

let clock: Clock;
let hedging: Hedging;
let questions: Questions;
beforeEach(() => {
  clock = new Clock();
  hedging = new Hedging({ now: () => clock.now, after: clock.after, random: () => 0 });
  questions = new Questions();
});

/** Answers of one replica, each after so many milliseconds. */
async function answered(times: readonly number[], kind?: string): Promise<void> {
  for (const ms of times) {
    const ask = (): Promise<string> => {
      clock.now += ms;
      return Promise.resolve('');
    };
    await hedging.askOne([A, B], ask, kind === undefined ? {} : { kind });
  }
}

describe('the replica that is asked first', () => {
  it('is that of this node, else that with the fewest requests under way', async () => {
    const local = { node: 'l', isLocal: true };
    for (const replicas of [
      [A, B, C],
      [A, B, C],
      [A, B, C],
      [C, A],
      [A, local],
    ]) {
      void hedging.askOne(replicas, questions.ask);
    }
    expect(questions.nodes).toEqual(['a', 'b', 'c', 'c', 'l']);
    questions.asked[1]!.resolve('');
    await settle();
    void hedging.askOne([A, C, B], questions.ask);
    expect(questions.nodes.at(-1)).toBe('b');
  });

  it('is one with less load that others have told, and a random one of equals', () => {
    const loads: Record<string, number> = { a: 3, b: 1, c: 2 };
    const told = new Hedging({ loadOf: (node) => loads[node]!, after: clock.after });
    void told.askOne([A, B, C], questions.ask);
    expect(questions.nodes).toEqual(['b']);
    const seen = new Set<string>();
    for (let round = 0; round < 100; round += 1) {
      void new Hedging({ after: clock.after }).askOne([A, B, C], ({ node }) => {
        seen.add(node);
        return Promise.resolve('');
      });
    }
    expect(seen.size).toBe(3);
  });
});

describe('another replica', () => {
  it('is asked after the 95th percentile of the last times; the first answer counts, the other is aborted', async () => {
    await answered(Array.from({ length: 100 }, (_, at) => at + 1));
    const asked = hedging.askOne([A, B], questions.ask);
    expect(clock.delays.at(-1)).toBeGreaterThanOrEqual(90);
    expect(clock.delays.at(-1)).toBeLessThanOrEqual(95);
    clock.advance(89);
    expect(questions.nodes).toEqual(['a']);
    clock.advance(6);
    expect(questions.nodes).toEqual(['a', 'b']);
    questions.asked[1]!.resolve('of b');
    expect(await asked).toBe('of b');
    expect(questions.asked[0]!.signal.aborted).toBe(true);
    questions.asked[0]!.reject(new Error('aborted'));
    await settle();
  });

  it('is asked after 5 ms at least, and a second at most or where few times are known', async () => {
    await answered(Array.from({ length: 15 }, () => 1));
    await answered([1]);
    expect(clock.delays.at(-1)).toBe(1000);
    await answered(Array.from({ length: 30 }, () => 0.1));
    expect(clock.delays.at(-1)).toBe(5);
    await answered(Array.from({ length: 600 }, () => 9000));
    expect(clock.delays.at(-1)).toBe(1000);
    // Other kinds have times of their own, and old times are forgotten.
    await answered(
      Array.from({ length: 40 }, () => 20),
      'scroll',
    );
    expect(clock.delays.at(-1)).toBe(20);
    await answered(Array.from({ length: 600 }, () => 7));
    expect(clock.delays.at(-1)).toBe(7);
  });

  it('is asked for a tenth of the requests at most, of which some can be saved up', async () => {
    let extra = 0;
    const slow = async (): Promise<void> => {
      const mine = new Questions();
      const asked = hedging.askOne([A, B], mine.ask);
      clock.advance(1000);
      extra += mine.asked.length - 1;
      mine.asked[0]!.resolve('');
      await asked;
    };
    for (let round = 0; round < 200; round += 1) await slow();
    expect(extra).toBe(20);
    await answered(Array.from({ length: 10_000 }, () => 1));
    extra = 0;
    for (let round = 0; round < 10; round += 1) await slow();
    expect(extra).toBe(10);
    for (let round = 0; round < 10; round += 1) await slow();
    expect(extra).toBeLessThanOrEqual(12);
  });
});

describe('a replica that does not answer', () => {
  it('is passed over at once, whatever has been saved up', async () => {
    const asked = hedging.askOne([A, B, C], questions.ask);
    questions.asked[0]!.reject(gone('a'));
    await settle();
    questions.asked[1]!.reject(new EngineError('shutting_down'));
    await settle();
    expect(questions.nodes).toEqual(['a', 'b', 'c']);
    questions.asked[2]!.resolve('of c');
    expect(await asked).toBe('of c');
  });

  it('makes the question fail with the last error where there is no other', async () => {
    const asked = hedging.askOne([A, B], questions.ask);
    questions.asked[0]!.reject(gone('a'));
    await settle();
    questions.asked[1]!.reject(gone('b'));
    await expect(asked).rejects.toThrow('b: gone');
    await expect(hedging.askOne([], questions.ask)).rejects.toThrow(/no replica/);
  });

  it('leaves the answer to the one that was asked beside it, and then to the next', async () => {
    await answered(Array.from({ length: 50 }, () => 10));
    const asked = hedging.askOne([A, B, C], questions.ask);
    clock.advance(10);
    questions.asked[0]!.reject(gone('a'));
    await settle();
    expect(questions.nodes).toEqual(['a', 'b']);
    questions.asked[1]!.reject(gone('b'));
    await settle();
    questions.asked[2]!.resolve('of c');
    expect(await asked).toBe('of c');
  });

  it.each([
    ['of the request', () => new EngineError('bad_request')],
    ['of the map', () => new MapDiffers('a', 3)],
    ['of this program', () => new TypeError('x')],
  ])('is not passed over for an error %s', async (_, error) => {
    const asked = hedging.askOne([A, B], questions.ask);
    questions.asked[0]!.reject(error());
    await expect(asked).rejects.toThrow(error());
    expect(questions.nodes).toEqual(['a']);
  });

  it('is aborted with the question, and asks nobody else', async () => {
    const over = new AbortController();
    const asked = hedging.askOne([A, B], questions.ask, { signal: over.signal });
    over.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    expect(questions.asked[0]!.signal.aborted).toBe(true);
    questions.asked[0]!.reject(gone('a'));
    clock.advance(5000);
    await settle();
    expect(questions.nodes).toEqual(['a']);
    await expect(hedging.askOne([A], questions.ask, { signal: over.signal })).rejects.toThrow('enough');
    expect(questions.nodes).toEqual(['a']);
  });

  it('is aborted at once where there is nobody else, whatever the replica does', async () => {
    const over = new AbortController();
    const asked = hedging.askOne([A], questions.ask, { signal: over.signal });
    over.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    expect(questions.asked[0]!.signal.aborted).toBe(true);
    questions.asked[0]!.resolve('late');
    await settle();
  });
});
