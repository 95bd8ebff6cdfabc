import { Histogram, type Registry } from 'prom-client';
import { REFUSAL_REASONS } from '../http/refusal';
import { DURATION_BOUNDS_SECONDS, type RequestCounts } from '../http/request-counts';
import type { Route } from '../http/route-table';
import { register, type Sample } from './family';

/** Adds the counts of requests: by route and outcome, and their durations by route. */
export function registerRequests(registry: Registry, requests: RequestCounts): void {
  register(registry, {
    type: 'counter',
    name: 'kithdb_http_requests_total',
    help: 'Requests that are over, by route and status; route "none" for those that matched none',
    labels: ['method', 'route', 'code'],
    samples: () => outcomeSamples(requests),
  });
  register(registry, {
    type: 'counter',
    name: 'kithdb_authentications_total',
    help: 'Checks of credentials: accepted, unknown or missing, or without the permission for what was asked',
    labels: ['outcome'],
    samples: () =>
      Object.entries(requests.authentications).map(([outcome, value]) => ({ labels: { outcome }, value })),
  });
  register(registry, {
    type: 'gauge',
    name: 'kithdb_http_connections',
    help: 'Connections that are open',
    samples: () => [{ value: requests.connections }],
  });
  register(registry, {
    type: 'counter',
    name: 'kithdb_http_connections_dropped_total',
    help: 'Connections without a request that were cut because there were too many',
    samples: () => [{ value: requests.droppedConnections }],
  });
  register(registry, {
    type: 'counter',
    name: 'kithdb_http_refusals_total',
    help: 'Requests refused for load, or given up because their client was slow, by reason',
    labels: ['reason'],
    samples: () =>
      REFUSAL_REASONS.map((reason) => ({ labels: { reason }, value: requests.refusals.get(reason) ?? 0 })),
  });
  new DurationHistogram(requests, registry);
}

/** A line of the route table as labels. Their number is bounded: one for each line, and one for requests without a route. */
function routeLabels(route: Route | undefined): RouteLabels {
  return route === undefined
    ? { method: 'none', route: 'none' }
    : { method: route.method, route: route.path };
}

interface RouteLabels {
  readonly method: string;
  readonly route: string;
}

function* outcomeSamples(requests: RequestCounts): Iterable<Sample> {
  for (const [route, { outcomes }] of requests.entries()) {
    for (const [outcome, value] of outcomes) {
      yield { labels: { ...routeLabels(route), code: String(outcome) }, value };
    }
  }
}

const DURATION = {
  name: 'kithdb_http_request_duration_seconds',
  help: 'From the arrival of a request to the end of its answer, by route',
};

type DurationLabel = 'method' | 'route';
type DurationMetric = Awaited<ReturnType<Histogram<DurationLabel>['get']>>;

/**
 * The durations as they were counted. The library's own histogram takes each value separately, which costs a request ten
 * times as much.
 */
class DurationHistogram extends Histogram<DurationLabel> {
  constructor(
    private readonly requests: RequestCounts,
    registry: Registry,
  ) {
    super({ ...DURATION, labelNames: ['method', 'route'], registers: [registry] });
  }

  /** Called by the library when it writes its histograms as text. */
  getForPromString(): Promise<Pick<DurationMetric, 'name' | 'help' | 'values'> & { type: string }> {
    return Promise.resolve({ ...DURATION, type: 'histogram', values: [...this.#values()] });
  }

  *#values(): Iterable<DurationMetric['values'][number]> {
    for (const [route, { durations, seconds }] of this.requests.entries()) {
      const labels = routeLabels(route);
      let count = 0;
      for (const [bucket, requests] of durations.entries()) {
        count += requests;
        const le = DURATION_BOUNDS_SECONDS[bucket] ?? '+Inf';
        yield {
          metricName: `${DURATION.name}_bucket`,
          labels: { le, ...labels } as RouteLabels,
          value: count,
        };
      }
      yield { metricName: `${DURATION.name}_sum`, labels, value: seconds };
      yield { metricName: `${DURATION.name}_count`, labels, value: count };
    }
  }
}
