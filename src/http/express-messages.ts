import type { Express } from 'express';
import { IncomingMessage, ServerResponse } from 'node:http';

/** The classes of the requests and responses of a server. */
export interface MessageClasses {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

/**
 * Gives the requests and responses of `app` classes, of which a server makes them: `app.request` and `app.response` become
 * their prototypes. Express sets the prototype of every request and response to these two. Where that changes a prototype,
 * V8 describes each property of the object anew: several KB for each request, which stay until the next full garbage
 * collection. To be called before the first request.
 */
export function useMessageClasses(app: Express): MessageClasses {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse extends ServerResponse {}
  app.request = replaced(app.request, ExpressRequest.prototype);
  app.response = replaced(app.response, ExpressResponse.prototype);
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse as typeof ServerResponse };
}

/** `by` with the prototype and the properties of `prototype`. */
function replaced<T extends object>(prototype: T, by: object): T {
  Object.setPrototypeOf(by, Object.getPrototypeOf(prototype) as object);
  return Object.defineProperties(by, Object.getOwnPropertyDescriptors(prototype)) as T;
}
