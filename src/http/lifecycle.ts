import type { Engine } from '../engine/types';

/** Where the server is between listening and its exit. */
export type Phase = 'starting' | 'ready' | 'stopping';

/** The phase of the server, and the engine while it is open. */
export class Lifecycle {
  #phase: Phase = 'starting';
  #engine: Engine | undefined;

  get phase(): Phase {
    return this.#phase;
  }

  /** The engine, from ready until the server stops; undefined answers 412 (C10.1). */
  get engine(): Engine | undefined {
    return this.#engine;
  }

  /** The engine is open. Does nothing and gives false when the server is stopping already. */
  becomeReady(engine: Engine): boolean {
    if (this.#phase !== 'starting') {
      return false;
    }
    this.#engine = engine;
    this.#phase = 'ready';
    return true;
  }

  /** Every new request gets a 503 from now on, except on the plain endpoints. */
  beginStop(): void {
    this.#phase = 'stopping';
  }
}
