import type { Engine } from '../engine/types';

/** Where the server is between listening and its exit. */
export type Phase = 'starting' | 'ready' | 'stopping';

/** The one place that knows the phase, holds the engine once it is open, and counts what is in progress. */
export class Lifecycle {
  #phase: Phase = 'starting';
  #engine: Engine | undefined;
  #inProgress = 0;
  #idle: (() => void) | undefined;

  get phase(): Phase {
    return this.#phase;
  }

  /** The engine, from ready until the server stops; undefined answers 412 (C10.1). */
  get engine(): Engine | undefined {
    return this.#engine;
  }

  get inProgress(): number {
    return this.#inProgress;
  }

  /** The engine is open. A server that is already stopping stays so: then false. */
  becomeReady(engine: Engine): boolean {
    if (this.#phase !== 'starting') {
      return false;
    }
    this.#engine = engine;
    this.#phase = 'ready';
    return true;
  }

  /** From here on every new request but the plain ones is a 503. */
  beginStop(): void {
    this.#phase = 'stopping';
  }

  requestBegan(): void {
    this.#inProgress += 1;
  }

  requestEnded(): void {
    this.#inProgress -= 1;
    if (this.#inProgress === 0) {
      this.#idle?.();
    }
  }

  /** Resolves when nothing is in progress. */
  whenIdle(): Promise<void> {
    return this.#inProgress === 0
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.#idle = resolve;
        });
  }
}
