import type { Exchange } from './exchange';
import type { Route } from './route-table';

/** Upper bounds of the buckets of durations, in seconds; a last bucket takes what is longer. */
export const DURATION_BOUNDS_SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10,
] as const;

/** How a request ended: the class of its status, or the client was gone before it had the whole answer. */
export const OUTCOMES = ['1xx', '2xx', '3xx', '4xx', '5xx', 'aborted'] as const;

const ABORTED = OUTCOMES.indexOf('aborted');

/** What the requests of one route came to. */
export interface RouteCounts {
  /** Requests by outcome, in the order of {@link OUTCOMES}. */
  readonly outcomes: Float64Array;
  /** Requests by duration, one count for each bound and one for what is longer; not cumulative. */
  readonly durations: Float64Array;
  /** All durations together. */
  seconds: number;
}

/**
 * Counts requests by route. Every request passes here, so there is only arithmetic: names and text are made when
 * somebody asks for them. The routes of the table are the only keys, and one more for what matched none of them.
 */
export class RequestCounts {
  readonly #counts = new Map<Route | undefined, RouteCounts>();
  /** Connections that were cut before a request, because there were too many. */
  droppedConnections = 0;

  /** Counts a request that is over. */
  add(exchange: Exchange): void {
    const counts = this.#of(exchange.route);
    const outcome = exchange.wasAnswered() ? Math.floor(exchange.response.statusCode / 100) - 1 : ABORTED;
    counts.outcomes[outcome] = (counts.outcomes[outcome] ?? 0) + 1;
    const seconds = exchange.elapsedSeconds();
    let bucket = 0;
    while (seconds > (DURATION_BOUNDS_SECONDS[bucket] ?? Infinity)) {
      bucket += 1;
    }
    counts.durations[bucket] = (counts.durations[bucket] ?? 0) + 1;
    counts.seconds += seconds;
  }

  /** Every route that had a request, undefined for requests that matched none. */
  entries(): Iterable<[Route | undefined, RouteCounts]> {
    return this.#counts.entries();
  }

  #of(route: Route | undefined): RouteCounts {
    let counts = this.#counts.get(route);
    if (counts === undefined) {
      counts = {
        outcomes: new Float64Array(OUTCOMES.length),
        durations: new Float64Array(DURATION_BOUNDS_SECONDS.length + 1),
        seconds: 0,
      };
      this.#counts.set(route, counts);
    }
    return counts;
  }
}
