import type { Exchange } from '../http/exchange';
import type { RefusalReason } from '../http/refusal';
import {
  noCounts,
  type AuthenticationOutcome,
  type LocalRequestCounts,
  type LoopFigures,
  type Outcome,
  type RequestCounts,
  type RouteCounts,
} from '../http/request-counts';
import type { Route } from '../http/route-table';

/** The counts of one event loop, as a message. */
export interface LoopCounts {
  readonly loop: number;
  readonly routes: readonly {
    /** Undefined for requests that matched none. */
    readonly route: string | undefined;
    readonly outcomes: readonly (readonly [Outcome, number])[];
    readonly durations: Float64Array;
    readonly seconds: number;
  }[];
  readonly refusals: readonly (readonly [RefusalReason, number])[];
  readonly authentications: Readonly<Record<AuthenticationOutcome, number>>;
  readonly droppedConnections: number;
  readonly connections: number;
  readonly busySeconds: number;
}

/** What the event loop that calls has counted. */
export function countsOf(loop: number, requests: LocalRequestCounts): LoopCounts {
  return {
    loop,
    routes: [...requests.entries()].map(([route, { outcomes, durations, seconds }]) => ({
      ...{ route: route && nameOf(route), outcomes: [...outcomes], durations, seconds },
    })),
    refusals: [...requests.refusals],
    authentications: requests.authentications,
    droppedConnections: requests.droppedConnections,
    connections: requests.connections,
    busySeconds: performance.eventLoopUtilization().active / 1000,
  };
}

/** A line of the route table, of which each event loop has an object of its own. */
function nameOf({ method, path }: Route): string {
  return `${method} ${path}`;
}

/** What other event loops count. */
export interface OtherLoops {
  /** Requests in progress, and open connections, now. */
  readonly inProgress: number;
  readonly connections: number;
  /** The counts of each, as they are now. */
  counts(): Promise<readonly LoopCounts[]>;
}

/** The counts of the whole process, for the event loop that has all the services. */
export class ProcessRequestCounts implements RequestCounts {
  /** As they were when they were asked for last. */
  #others: readonly LoopCounts[] = [];
  /** The lines of the table that other event loops have too, by their names. */
  readonly #routes = new Map<string, Route>();

  constructor(
    private readonly own: LocalRequestCounts,
    private readonly others: OtherLoops,
  ) {}

  async refresh(): Promise<void> {
    this.#others = await this.others.counts();
  }

  get inProgress(): number {
    return this.own.inProgress + this.others.inProgress;
  }

  get connections(): number {
    return this.own.connections + this.others.connections;
  }

  get droppedConnections(): number {
    return this.#others.reduce((sum, other) => sum + other.droppedConnections, this.own.droppedConnections);
  }

  get authentications(): Readonly<Record<AuthenticationOutcome, number>> {
    const sum = { ...this.own.authentications };
    for (const { authentications } of this.#others) {
      for (const [outcome, count] of Object.entries(authentications)) {
        sum[outcome as AuthenticationOutcome] += count;
      }
    }
    return sum;
  }

  get refusals(): ReadonlyMap<RefusalReason, number> {
    const sum = new Map(this.own.refusals);
    for (const [reason, count] of this.#others.flatMap(({ refusals }) => refusals)) {
      sum.set(reason, (sum.get(reason) ?? 0) + count);
    }
    return sum;
  }

  get loops(): readonly LoopFigures[] {
    return [countsOf(0, this.own), ...this.#others].map(({ loop, routes, connections, busySeconds }) => {
      const requests = routes.flatMap(({ outcomes }) => outcomes).reduce((sum, [, count]) => sum + count, 0);
      return { loop, requests, connections, busySeconds };
    });
  }

  entries(): Iterable<[Route | undefined, RouteCounts]> {
    const sums = new Map<string | undefined, [Route | undefined, RouteCounts]>();
    for (const [route, counts] of this.own.entries()) {
      sums.set(route && nameOf(route), [route, added(noCounts(), counts)]);
    }
    for (const { route: name, ...counts } of this.#others.flatMap(({ routes }) => routes)) {
      const [route, sum] = sums.get(name) ?? [this.#routes.get(name ?? ''), noCounts()];
      sums.set(name, [route, added(sum, counts)]);
    }
    return sums.values();
  }

  /** Says which lines the table has. */
  countRoutes(routes: readonly Route[]): void {
    for (const route of routes) this.#routes.set(nameOf(route), route);
  }

  began(): void {
    this.own.began();
  }

  ended(exchange: Exchange, seconds: number): void {
    this.own.ended(exchange, seconds);
  }

  connectionOpened(): void {
    this.own.connectionOpened();
  }

  connectionClosed(): void {
    this.own.connectionClosed();
  }

  connectionDropped(): void {
    this.own.connectionDropped();
  }

  authenticated(outcome: AuthenticationOutcome): void {
    this.own.authenticated(outcome);
  }

  refused(reason: RefusalReason): void {
    this.own.refused(reason);
  }

  whenIdle(): Promise<void> {
    return this.own.whenIdle();
  }
}

function added(
  sum: RouteCounts,
  {
    outcomes,
    durations,
    seconds,
  }: { outcomes: Iterable<readonly [Outcome, number]>; durations: Float64Array; seconds: number },
): RouteCounts {
  for (const [outcome, count] of outcomes) {
    sum.outcomes.set(outcome, (sum.outcomes.get(outcome) ?? 0) + count);
  }
  sum.seconds += seconds;
  for (const [bucket, count] of durations.entries()) {
    sum.durations[bucket] = (sum.durations[bucket] ?? 0) + count;
  }
  return sum;
}
