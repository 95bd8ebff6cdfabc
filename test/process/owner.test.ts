import pino from 'pino';
import { ProcessOwner } from '../../src/process/owner';
import { ANSWER_MS, CHECKPOINTED_MS, EXIT_MS, GRACE_MS, LEAST_CLOSE_MS } from '../../src/process/stop-times';

describe('C11.3 a process whose server is asked to stop', () => {
  const signals = ['SIGTERM', 'SIGINT', 'SIGBREAK', 'SIGHUP'] as const;
  const faults = ['uncaughtException', 'unhandledRejection'] as const;
  /** Listeners of others, which a test must not call. */
  const others = new Map<string, NodeJS.SignalsListener[]>();
  let exit: jest.SpyInstance;
  let flushed: number;

  beforeEach(() => {
    jest.useFakeTimers();
    for (const name of [...signals, ...faults]) {
      others.set(name, process.listeners(name as 'SIGTERM'));
      process.removeAllListeners(name);
    }
    flushed = 0;
    exit = jest.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  });
  afterEach(() => {
    for (const [name, listeners] of others) {
      process.removeAllListeners(name);
      listeners.forEach((listener) => process.on(name as 'SIGTERM', listener));
    }
    exit.mockRestore();
    jest.useRealTimers();
  });

  function owner(): ProcessOwner {
    return new ProcessOwner({ log: pino({ level: 'silent' }), flush: () => (flushed += 1) });
  }

  it('ends at its time although the stop hangs', () => {
    let stops = 0;
    owner().own({
      ready: new Promise(() => undefined),
      readCertificateAgain: undefined,
      stop: () => {
        stops += 1;
        return new Promise(() => undefined);
      },
    });
    process.emit('SIGTERM');
    jest.advanceTimersByTime(EXIT_MS - 1);
    expect([stops, exit.mock.calls]).toEqual([1, []]);
    jest.advanceTimersByTime(1);
    expect(exit.mock.calls).toEqual([[0]]);
    expect(flushed).toBe(1);
  });

  it('ends at its time although the start hangs', () => {
    owner();
    process.emit('SIGTERM');
    jest.advanceTimersByTime(EXIT_MS);
    expect(exit.mock.calls).toEqual([[0]]);
  });

  it('takes the copies of a signal that come before there is a server for one', async () => {
    const early = owner();
    process.emit('SIGINT');
    jest.advanceTimersByTime(10);
    process.emit('SIGINT');
    expect([exit.mock.calls, flushed]).toEqual([[], 0]);
    let stops = 0;
    early.own({
      ready: new Promise(() => undefined),
      readCertificateAgain: undefined,
      stop: () => {
        stops += 1;
        return Promise.resolve();
      },
    });
    process.emit('SIGINT');
    await jest.advanceTimersByTimeAsync(0);
    expect([stops, exit.mock.calls, flushed]).toEqual([1, [[0]], 1]);
  });

  it.each([
    ['of another name', 'SIGTERM', 10],
    ['that comes later', 'SIGINT', 200],
  ] as const)('ends at once after a second signal %s, before there is a server too', (_, second, afterMs) => {
    owner();
    process.emit('SIGINT');
    jest.advanceTimersByTime(afterMs);
    process.emit(second);
    expect([exit.mock.calls, flushed]).toEqual([[[1]], 1]);
  });

  it('ends as soon as the stop is over', async () => {
    owner().own({
      ready: new Promise(() => undefined),
      readCertificateAgain: undefined,
      stop: () => Promise.resolve(),
    });
    process.emit('SIGTERM');
    await jest.advanceTimersByTimeAsync(0);
    expect(exit.mock.calls).toEqual([[0]]);
    jest.advanceTimersByTime(EXIT_MS);
    expect(exit.mock.calls).toEqual([[0]]);
  });
});

describe('C11.3 the times of a stop', () => {
  // The other tests take them from the source: these are the numbers that the contract has.
  it('give requests 7 s, and end the process before 10 s', () => {
    expect(GRACE_MS).toBe(7000);
    expect(EXIT_MS).toBeLessThan(10_000);
  });

  it('leave room for each step before the next one', () => {
    expect(GRACE_MS + ANSWER_MS).toBeLessThan(CHECKPOINTED_MS);
    expect(CHECKPOINTED_MS + LEAST_CLOSE_MS).toBeLessThan(EXIT_MS);
  });
});
