import type { IncomingMessage } from 'node:http';
import type { Exchange } from './exchange';
import { expressLane } from './express-lane';
import { validateQuery } from './query-validation';
import * as listeners from './request-listeners';

export type { HttpListeners } from './request-listeners';

/** What the HTTP application needs. */
export type HttpServices = Omit<listeners.HttpServices, 'validateQuery'>;

/**
 * The HTTP application: the points endpoints go through the hot lane, and everything else through Express.
 * @throws Error when the route table is wrong.
 */
export function httpListeners(services: HttpServices): listeners.HttpListeners {
  const exchanges = new WeakMap<IncomingMessage, Exchange>();
  return listeners.requestListeners({ ...services, validateQuery }, ({ chain, matcher }) => {
    const made = (request: IncomingMessage): Exchange => madeExchange(exchanges, request);
    const express = expressLane(services.routes, matcher, chain, made);
    return {
      answer: (exchange) => {
        const { request, response, path, queryString } = exchange;
        request.url = queryString === '' ? path : `${path}?${queryString}`;
        exchanges.set(request, exchange);
        express(request, response);
      },
    };
  });
}

/** The exchange that was made when a request arrived. */
function madeExchange(exchanges: WeakMap<IncomingMessage, Exchange>, request: IncomingMessage): Exchange {
  const exchange = exchanges.get(request);
  if (exchange === undefined) {
    throw new Error('a request reached Express without its exchange');
  }
  return exchange;
}
