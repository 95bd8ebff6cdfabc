import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { RequestLog } from './request-log';
import { Chain, type ChainServices } from './chain';
import { isClosing } from './connection';
import { CrossOrigin } from './cross-origin';
import { badRequest, expectationFailed, type Failure } from './errors';
import { Exchange } from './exchange';
import type { MessageClasses } from './express-messages';
import { RouteMatcher } from './matcher';
import type { RequestCounts } from './request-counts';
import type { Tracing } from './request-trace';
import { checkRouteTable, isPointsRoute, POINTS_PATH, type Route } from './route-table';
import { authorityOf, parseTarget } from './target';

/** What the HTTP application needs. */
export interface HttpServices extends ChainServices {
  readonly routes: readonly Route[];
  /** Every request is counted here. */
  readonly requests: RequestCounts;
  /** Origins whose pages may call the service. */
  readonly corsOrigins: readonly string[];
  /** Where requests are traced to; nowhere when absent, and then no header of a trace is read. */
  readonly tracing?: Tracing | undefined;
  /** False sends the points endpoints through the other lane too; the tests compare both. */
  readonly hotLane?: boolean;
}

/** What all requests are taken with. */
export interface Reception {
  readonly chain: Chain;
  readonly matcher: RouteMatcher;
}

/** What answers requests that are not for the hot lane. */
export interface OtherLane {
  /** Whether another event loop answers it: then it is counted, logged and traced there, and not here. */
  readonly isElsewhere?: (exchange: Exchange) => boolean;
  readonly answer: (exchange: Exchange) => void;
  /** The classes of the requests and responses of the server; Node's own where absent. */
  readonly messages?: MessageClasses;
}

/** What an HTTP server calls, and the classes of what it calls it with. */
export interface HttpListeners {
  readonly request: RequestListener;
  /** For `Expect: 100-continue`: the body is asked for only when the request has passed its checks. */
  readonly checkContinue: RequestListener;
  /** For every other `Expect`: refused. */
  readonly checkExpectation: RequestListener;
  /** For each new connection. */
  readonly connected: (socket: Socket) => void;
  /** For a connection that is cut because there are too many. */
  readonly cut: () => void;
  /** The classes of the requests and responses of the server; Node's own where undefined. */
  readonly messages: MessageClasses | undefined;
}

/** Minimum time between two warnings that connections were cut. */
const CUT_WARNING_MS = 60_000;

/** What the `Expect` header of a request asks for. */
type Expects = 'nothing' | 'continue' | 'more';

const HOT_PREFIX = POINTS_PATH.slice(0, POINTS_PATH.indexOf(':'));

/** The number of `Host` headers in alternating names and values. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') {
      hosts += 1;
    }
  }
  return hosts;
}

/** What is wrong with a head that Node's parser accepts. */
function malformedHead({ headers, httpVersion, rawHeaders, url = '/' }: IncomingMessage): string | undefined {
  const encoding = headers['transfer-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') {
    // Node reports it too, but only after the request is running.
    return 'Unsupported transfer encoding: only chunked';
  }
  if (encoding !== undefined && httpVersion === '1.0') {
    return 'Unsupported transfer encoding: none in HTTP/1.0';
  }
  const { host } = headers;
  if (host === undefined) {
    return httpVersion === '1.0' ? undefined : 'Missing Host header';
  }
  // `headers` has the first of several; a proxy in front of this server may have used the last.
  if (countHosts(rawHeaders) > 1) {
    return 'More than one Host header';
  }
  const authority = authorityOf(url);
  return authority === undefined || authority.toLowerCase() === host.toLowerCase()
    ? undefined
    : 'The Host header and the request target name different hosts';
}

/** Why a head is refused before anything else is checked. */
function refuseHead(request: IncomingMessage, expects: Expects): Failure | undefined {
  const malformed = malformedHead(request);
  if (malformed !== undefined) {
    return badRequest(malformed);
  }
  return expects === 'more' ? expectationFailed() : undefined;
}

/** Counts a connection until it is closed. */
function connectionCounter(requests: RequestCounts): (socket: Socket) => void {
  return (socket) => {
    requests.connectionOpened();
    socket.once('close', () => {
      requests.connectionClosed();
    });
  };
}

/** Counts connections that are cut because there are too many, and logs that now and then. */
function cutCounter(requests: RequestCounts, log: Logger): () => void {
  let warnedAt = -Infinity;
  return () => {
    requests.connectionDropped();
    if (performance.now() - warnedAt >= CUT_WARNING_MS) {
      warnedAt = performance.now();
      const total = requests.droppedConnections;
      log.warn({ total }, 'connections are cut, because there are too many: let clients reuse them');
    }
  };
}

/** Begins to count, log and trace an exchange, until it is over. */
function observer({
  requests,
  addresses,
  tracing,
  log,
  requestLog,
}: HttpServices): (exchange: Exchange) => void {
  const lines = new RequestLog(log, addresses, requestLog);
  return (exchange) => {
    exchange.trace = tracing?.begin(exchange, addresses.of(exchange.request));
    requests.began();
    exchange.whenOver(() => {
      const seconds = exchange.elapsedSeconds();
      requests.ended(exchange, seconds);
      lines.ended(exchange, seconds);
      exchange.trace?.end(exchange);
    });
  };
}

/**
 * Stamps each request, then sends the points endpoints through the hot lane and everything else through the other one. Both
 * run the same {@link Chain} over the same table.
 * @throws Error when the route table is wrong.
 */
export function requestListeners(
  services: HttpServices,
  otherLane: (reception: Reception) => OtherLane,
): HttpListeners {
  const { routes, requests, lifecycle, log, hotLane = true } = services;
  checkRouteTable(routes);
  const matcher = new RouteMatcher(routes);
  const chain = new Chain(services);
  const begin = observer(services);
  const crossOrigin = new CrossOrigin(services.corsOrigins);
  const { answer, isElsewhere, messages } = otherLane({ chain, matcher });
  const methodsOf = (path: string): readonly string[] => matcher.methods(path);

  const serve = (request: IncomingMessage, response: ServerResponse, expects: Expects): void => {
    if (isClosing(request)) {
      return;
    }
    const target = parseTarget(request.url ?? '/');
    const exchange = new Exchange(request, response, target, lifecycle);
    exchange.expectsContinue = expects === 'continue';
    const refused = refuseHead(request, expects);
    if (refused === undefined && isElsewhere?.(exchange) === true) {
      answer(exchange);
      return;
    }
    begin(exchange);
    if (refused !== undefined) {
      exchange.fail(refused);
      return;
    }
    if (request.headers.origin !== undefined && crossOrigin.apply(exchange, methodsOf)) {
      return;
    }
    if (hotLane && target.path.startsWith(HOT_PREFIX)) {
      const match = matcher.match(exchange.method, target.path);
      if (match !== undefined && isPointsRoute(match.route)) {
        chain.run(exchange, match.route, match.params);
        return;
      }
    }
    answer(exchange);
  };

  return {
    request: (request, response) => {
      serve(request, response, 'nothing');
    },
    checkContinue: (request, response) => {
      serve(request, response, 'continue');
    },
    checkExpectation: (request, response) => {
      serve(request, response, 'more');
    },
    connected: connectionCounter(requests),
    cut: cutCounter(requests, log),
    messages,
  };
}
