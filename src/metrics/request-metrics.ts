import { REFUSAL_REASONS } from '../http/refusal';
import { DURATION_BOUNDS_SECONDS, type LoopFigures, type RequestCounts } from '../http/request-counts';
import type { Route } from '../http/route-table';
import { labelled, type DurationSample, type Family, type Labels, type Sample } from './family';

/** The counts of requests: by route and outcome, and their durations by route. */
export function requestFamilies(requests: RequestCounts): readonly Family[] {
  return [
    {
      type: 'counter',
      name: 'kithdb_http_requests_total',
      help: 'Requests that are over, by route and status; route "none" for those that matched none',
      samples: () => outcomeSamples(requests),
    },
    {
      type: 'counter',
      name: 'kithdb_authentications_total',
      help: 'Checks of credentials: accepted, unknown or missing, without the permission for what was asked; of logins: accepted, a wrong password, or refused without a look at it',
      samples: () => labelled('outcome', { ...requests.authentications }),
    },
    {
      type: 'gauge',
      name: 'kithdb_http_connections',
      help: 'Connections that are open',
      samples: () => [{ value: requests.connections }],
    },
    {
      type: 'counter',
      name: 'kithdb_http_connections_dropped_total',
      help: 'Connections without a request that were cut because there were too many',
      samples: () => [{ value: requests.droppedConnections }],
    },
    {
      type: 'counter',
      name: 'kithdb_http_refusals_total',
      help: 'Requests refused for load, for a rate or for room, or given up because their client was slow, by reason',
      samples: () =>
        REFUSAL_REASONS.map((reason) => ({ labels: { reason }, value: requests.refusals.get(reason) ?? 0 })),
    },
    {
      type: 'histogram',
      name: 'kithdb_http_request_duration_seconds',
      help: 'From the arrival of a request to the end of its answer, by route',
      durations: () => durationSamples(requests),
    },
  ];
}

/** What each event loop has to do; nothing where there is one. */
export function loopFamilies(loops: readonly LoopFigures[] = []): readonly Family[] {
  const samples = (figure: Exclude<keyof LoopFigures, 'loop'>) => () =>
    loops.map((figures) => ({ labels: { loop: String(figures.loop) }, value: figures[figure] }));
  return loops.length === 0
    ? []
    : [
        {
          type: 'counter',
          name: 'kithdb_event_loop_requests_total',
          help: 'Requests that are over, by the event loop that answered them; there are these three where there are several loops',
          samples: samples('requests'),
        },
        {
          type: 'gauge',
          name: 'kithdb_event_loop_connections',
          help: 'Connections that are open, by event loop',
          samples: samples('connections'),
        },
        {
          type: 'counter',
          name: 'kithdb_event_loop_busy_seconds_total',
          help: 'Time for which an event loop was not idle; one that is never idle is the limit of its connections',
          samples: samples('busySeconds'),
        },
      ];
}

/** A line of the route table as labels. Their number is bounded: one for each line, and one for requests without a route. */
function routeLabels(route: Route | undefined): Labels {
  return route === undefined
    ? { method: 'none', route: 'none' }
    : { method: route.method, route: route.path };
}

function* outcomeSamples(requests: RequestCounts): Iterable<Sample> {
  for (const [route, { outcomes }] of requests.entries()) {
    for (const [outcome, value] of outcomes) {
      yield { labels: { ...routeLabels(route), code: String(outcome) }, value };
    }
  }
}

function* durationSamples(requests: RequestCounts): Iterable<DurationSample> {
  for (const [route, { durations, seconds }] of requests.entries()) {
    yield { labels: routeLabels(route), bounds: DURATION_BOUNDS_SECONDS, counts: durations, seconds };
  }
}
