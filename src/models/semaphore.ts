import { EngineError } from '../engine/types';

/** Lets so many calls run at a time; the others wait, up to a number, in their order. */
export class Semaphore {
  #running = 0;
  readonly #waiting = new Set<() => void>();

  constructor(
    private readonly atATime: number,
    private readonly mostWaiting: number,
  ) {}

  /**
   * Runs `work` once fewer than the limit run and all before it have begun.
   * @throws EngineError `overloaded` where too many wait, and the reason of `signal` where it is aborted meanwhile.
   */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#enter(signal);
    try {
      return await work();
    } finally {
      this.#running -= 1;
      const [next] = this.#waiting;
      next?.();
    }
  }

  #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#running < this.atATime) {
      this.#running += 1;
      return Promise.resolve();
    }
    if (this.#waiting.size >= this.mostWaiting) {
      throw new EngineError('overloaded', { message: 'Too many requests wait for a model' });
    }
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        end();
        this.#running += 1;
        resolve();
      };
      const giveUp = (): void => {
        end();
        reject(signal.reason as Error);
      };
      const end = (): void => {
        this.#waiting.delete(begin);
        signal.removeEventListener('abort', giveUp);
      };
      this.#waiting.add(begin);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }
}
