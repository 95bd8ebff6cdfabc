import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { IncomingMessage } from 'node:http';
import type { Chain } from './chain';
import {
  badRequest,
  bodyTooLarge,
  malformedGzip,
  methodNotAllowed,
  routeNotFound,
  unsupportedBody,
  unsupportedCoding,
  type Failure,
} from './errors';
import type { Exchange } from './exchange';
import type { RouteMatcher } from './matcher';
import type { Route } from './route-table';

/** Finds the exchange that was made when a request arrived. */
export type ExchangeOf = (request: IncomingMessage) => Exchange;

/**
 * The Express application: every route of the table, the answers for a path or a method that has none, and the
 * errors that Express and the body parsers of `/auth` raise.
 */
export function expressLane(
  routes: readonly Route[],
  matcher: RouteMatcher,
  chain: Chain,
  exchangeOf: ExchangeOf,
): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  for (const route of routes) {
    const method = route.method.toLowerCase() as Lowercase<Route['method']>;
    const handlers = route.kind === 'auth' || route.kind === 'handled' ? route.handlers : [];
    app[method](route.path, runChain(route, chain, exchangeOf), ...handlers);
  }
  app.use((request: IncomingMessage) => {
    refuseUnrouted(exchangeOf(request), matcher);
  });
  app.use(answerError(matcher, chain, exchangeOf));
  return app;
}

function runChain(route: Route, chain: Chain, exchangeOf: ExchangeOf): RequestHandler {
  return (request, response, next) => {
    const exchange = exchangeOf(request);
    const params = { values: request.params as Record<string, string>, undecodable: [] };
    chain.run(exchange, route, params, () => {
      response.setHeader('X-Request-Id', exchange.requestId);
      response.setHeader('X-Content-Type-Options', 'nosniff');
      response.setHeader('Cache-Control', 'no-store');
      for (const [name, value] of Object.entries(exchange.extraHeaders ?? {})) {
        response.setHeader(name, value);
      }
      next();
    });
  };
}

/** The answer for a path or a method that no route has. */
function refuseUnrouted(exchange: Exchange, matcher: RouteMatcher): void {
  const { method, path } = exchange;
  const allowed = matcher.methods(path);
  exchange.fail(allowed.length === 0 ? routeNotFound(method, path) : methodNotAllowed(method, path, allowed));
}

/** The errors of the body parsers, by type. */
const PARSER_ERRORS: Readonly<Record<string, (error: ParserError) => Failure>> = {
  'entity.too.large': (error) => bodyTooLarge(error.limit ?? 0),
  'entity.parse.failed': () => badRequest('The body is not valid JSON'),
  'encoding.unsupported': (error) => unsupportedCoding(error.encoding ?? ''),
  'charset.unsupported': () => unsupportedBody('Unsupported content type: the body must be application/json'),
  'request.size.invalid': () => badRequest('The body is shorter or longer than its Content-Length'),
};

interface ParserError {
  readonly type?: string;
  readonly limit?: number;
  readonly encoding?: string;
  /** The error code of zlib. */
  readonly code?: string;
}

/** Whether zlib could not inflate a body. */
export function isMalformedGzip(error: unknown): boolean {
  const { code } = (error ?? {}) as ParserError;
  return code?.startsWith('Z_') === true;
}

function answerError(matcher: RouteMatcher, chain: Chain, exchangeOf: ExchangeOf): ErrorRequestHandler {
  // Express recognises error middleware by its four parameters.
  // eslint-disable-next-line @typescript-eslint/no-unused-vars
  return (error: unknown, request, _response, _next) => {
    const exchange = exchangeOf(request);
    if (exchange.route === undefined) {
      // Express decodes parameters while it matches, before the checks. A path that it cannot decode goes through the
      // checks here, as in the hot lane.
      const match = matcher.match(exchange.method, exchange.path);
      if (match !== undefined) {
        chain.run(exchange, match.route, match.params);
        return;
      }
      refuseUnrouted(exchange, matcher);
      return;
    }
    const parserError = typeof error === 'object' && error !== null ? (error as ParserError) : {};
    const failure = isMalformedGzip(error)
      ? malformedGzip()
      : PARSER_ERRORS[parserError.type ?? '']?.(parserError);
    if (failure !== undefined) {
      exchange.fail(failure);
    } else if (parserError.type === 'request.aborted') {
      request.destroy();
    } else {
      chain.fault(exchange, error);
    }
  };
}
