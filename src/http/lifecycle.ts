import type { Engine } from '../engine/types';

/** Where the server is between listening and its exit. */
export type Phase = 'starting' | 'ready' | 'stopping';

/** The state that probes report: `closed` is a server that is ready and whose authentication refuses everybody (C3.8). */
export type Readiness = Phase | 'closed';

/** The phase of the server, and the engine while it is open. */
export class Lifecycle {
  #phase: Phase = 'starting';
  #engine: Engine | undefined;
  #isClosed = (): boolean => false;
  #stoppingSince: number | undefined;

  get phase(): Phase {
    return this.#phase;
  }

  get isStopping(): boolean {
    return this.#phase === 'stopping';
  }

  /** Whether data endpoints are served. */
  get readiness(): Readiness {
    return this.#phase === 'ready' && this.#isClosed() ? 'closed' : this.#phase;
  }

  /** Says how to learn whether authentication is closed, also later. */
  closedWhen(isClosed: () => boolean): void {
    this.#isClosed = isClosed;
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

  /** Milliseconds since the stop began; 0 before it. */
  get stoppingForMs(): number {
    return this.#stoppingSince === undefined ? 0 : performance.now() - this.#stoppingSince;
  }

  /** Every new request gets a 503 from now on, except on the plain endpoints. */
  beginStop(): void {
    this.#phase = 'stopping';
    this.#stoppingSince ??= performance.now();
  }
}
