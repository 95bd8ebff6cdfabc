import type { IncomingMessage } from 'node:http';
import type { Exchange } from './exchange';
import { expressLane } from './express-lane';
import { useMessageClasses } from './express-messages';
import { validateQuery } from './query-validation';
import * as listeners from './request-listeners';

export type { HttpListeners } from './request-listeners';

/** What the HTTP application needs. */
export type HttpServices = Omit<listeners.HttpServices, 'validateQuery'>;

/**
 * A property and no `WeakMap`: a collection of the young generation treats every value of a `WeakMap` as reachable, also where
 * its key is garbage.
 */
const EXCHANGE = Symbol('exchange');

interface WithExchange extends IncomingMessage {
  [EXCHANGE]?: Exchange;
}

/**
 * The HTTP application: the points endpoints go through the hot lane, and everything else through Express.
 * @throws Error when the route table is wrong.
 */
export function httpListeners(services: HttpServices): listeners.HttpListeners {
  return listeners.requestListeners({ ...services, validateQuery }, ({ chain, matcher }) => {
    const express = expressLane(services.routes, matcher, chain, madeExchange);
    return {
      messages: useMessageClasses(express),
      answer: (exchange) => {
        const { request, response, path, queryString } = exchange;
        request.url = queryString === '' ? path : `${path}?${queryString}`;
        (request as WithExchange)[EXCHANGE] = exchange;
        express(request, response);
      },
    };
  });
}

/** The exchange that was made when a request arrived. */
function madeExchange(request: WithExchange): Exchange {
  const exchange = request[EXCHANGE];
  if (exchange === undefined) {
    throw new Error('a request reached Express without its exchange');
  }
  return exchange;
}
