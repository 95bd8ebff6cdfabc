import type { Exchange } from './exchange';
import type { RefusalReason } from './refusal';
import type { Route } from './route-table';

/** Upper bounds of the buckets of durations, in seconds; longer durations go into a last bucket. */
export const DURATION_BOUNDS_SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
] as const;

/** How a request ended: its status, or `aborted` when the client disconnected before the whole answer. */
export type Outcome = number | 'aborted';

/** The counts of one route. */
export interface RouteCounts {
  /** Requests by outcome. */
  readonly outcomes: Map<Outcome, number>;
  /** Requests by duration, one count for each bound and one for longer durations; not cumulative. */
  readonly durations: Float64Array;
  /** The sum of all durations. */
  seconds: number;
}

/** The counts of a route that had no request. */
export function noCounts(): RouteCounts {
  return {
    outcomes: new Map(),
    durations: new Float64Array(DURATION_BOUNDS_SECONDS.length + 1),
    seconds: 0,
  };
}

/**
 * Whether a credential is one, and whether it may do what was asked; of a login whether its password is the admin's, or was
 * not looked at because there were too many.
 */
export type AuthenticationOutcome = 'accepted' | 'unknown' | 'forbidden' | 'wrong_password' | 'throttled';

/** What one process counts of its requests and connections. */
export interface RequestCounts {
  /** Requests that have arrived and are not answered whole. */
  readonly inProgress: number;
  /** Connections that are open. */
  readonly connections: number;
  /** Connections without a request that were cut because there were too many. */
  readonly droppedConnections: number;
  /** Checks of credentials and of passwords, by their outcome. */
  readonly authentications: Readonly<Record<AuthenticationOutcome, number>>;
  /** Requests that were refused for load or given up because their clients were slow. */
  readonly refusals: ReadonlyMap<RefusalReason, number>;
  /** Counts a request that has arrived. */
  began(): void;
  /** Counts a request that is over after so many seconds. */
  ended(exchange: Exchange, seconds: number): void;
  connectionOpened(): void;
  connectionClosed(): void;
  connectionDropped(): void;
  /** Counts a check of the credential of a request, or of the password of a login. */
  authenticated(outcome: AuthenticationOutcome): void;
  refused(reason: RefusalReason): void;
  /** Every route that had a request, undefined for requests that matched none. */
  entries(): Iterable<[Route | undefined, RouteCounts]>;
  /** Resolves when no request is in progress. */
  whenIdle(): Promise<void>;
  /** Where there are several event loops: what each has had to do, when {@link refresh} asked for it last. */
  readonly loops?: readonly LoopFigures[];
  /** Says which lines the route table has, of which other event loops answer some. */
  countRoutes?(routes: readonly Route[]): void;
  /** Asks the other event loops for their counts. */
  refresh?(): Promise<void>;
}

/** What one event loop has had to do. */
export interface LoopFigures {
  /** Its number; 0 is the one that has all the services. */
  readonly loop: number;
  /** Requests that it has answered. */
  readonly requests: number;
  /** Connections that are open on it. */
  readonly connections: number;
  /** Seconds for which it was not idle since it was started. */
  readonly busySeconds: number;
}

const IN_PROGRESS = 0;
const CONNECTIONS = 1;

/**
 * Counts requests by route. Every request is counted here, so there is only arithmetic: names and text are made when the
 * metrics are asked for. The routes of the table are the only keys, and one more for what matched none of them.
 */
export class LocalRequestCounts implements RequestCounts {
  readonly #counts = new Map<Route | undefined, RouteCounts>();
  readonly #refusals = new Map<RefusalReason, number>();
  readonly authentications: Record<AuthenticationOutcome, number> = {
    accepted: 0,
    unknown: 0,
    forbidden: 0,
    wrong_password: 0,
    throttled: 0,
  };
  #droppedConnections = 0;
  #idle: (() => void) | undefined;

  /** @param gauges requests in progress and open connections, where other event loops can read them */
  constructor(private readonly gauges: Int32Array = new Int32Array(2)) {}

  get inProgress(): number {
    return this.gauges[IN_PROGRESS] ?? 0;
  }

  get connections(): number {
    return this.gauges[CONNECTIONS] ?? 0;
  }

  get droppedConnections(): number {
    return this.#droppedConnections;
  }

  get refusals(): ReadonlyMap<RefusalReason, number> {
    return this.#refusals;
  }

  began(): void {
    this.#count(IN_PROGRESS, 1);
  }

  ended(exchange: Exchange, seconds: number): void {
    this.#count(IN_PROGRESS, -1);
    this.#add(exchange, seconds);
    if (this.inProgress === 0) {
      this.#idle?.();
    }
  }

  connectionOpened(): void {
    this.#count(CONNECTIONS, 1);
  }

  connectionClosed(): void {
    this.#count(CONNECTIONS, -1);
  }

  authenticated(outcome: AuthenticationOutcome): void {
    this.authentications[outcome] += 1;
  }

  connectionDropped(): void {
    this.#droppedConnections += 1;
  }

  refused(reason: RefusalReason): void {
    this.#refusals.set(reason, (this.#refusals.get(reason) ?? 0) + 1);
  }

  entries(): Iterable<[Route | undefined, RouteCounts]> {
    return this.#counts.entries();
  }

  whenIdle(): Promise<void> {
    return this.inProgress === 0
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.#idle = resolve;
        });
  }

  #count(gauge: number, more: number): void {
    this.gauges[gauge] = (this.gauges[gauge] ?? 0) + more;
  }

  #add(exchange: Exchange, seconds: number): void {
    const counts = this.#of(exchange.route);
    const outcome = exchange.wasAnswered() ? exchange.response.statusCode : 'aborted';
    counts.outcomes.set(outcome, (counts.outcomes.get(outcome) ?? 0) + 1);
    let bucket = 0;
    while (seconds > (DURATION_BOUNDS_SECONDS[bucket] ?? Infinity)) {
      bucket += 1;
    }
    counts.durations[bucket] = (counts.durations[bucket] ?? 0) + 1;
    counts.seconds += seconds;
  }

  #of(route: Route | undefined): RouteCounts {
    let counts = this.#counts.get(route);
    if (counts === undefined) {
      counts = noCounts();
      this.#counts.set(route, counts);
    }
    return counts;
  }
}
