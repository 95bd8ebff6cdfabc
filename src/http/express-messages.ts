import type { Express } from 'express';
import { IncomingMessage, ServerResponse } from 'node:http';

/** The classes of the requests and responses of a server. */
export interface MessageClasses {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

/**
 * Classes whose instances are requests and responses of `app` from the start. Express gives every request and response the
 * prototype that it has for them. For an object of another prototype V8 then describes each property anew: several KB for
 * each request, which stay until the next full garbage collection.
 */
export function messagesOf(app: Express): MessageClasses {
  class Request extends IncomingMessage {}
  class Response extends ServerResponse {}
  app.request = replaced(app.request, Request.prototype);
  app.response = replaced(app.response, Response.prototype);
  return { IncomingMessage: Request, ServerResponse: Response as typeof ServerResponse };
}

/** `by` with the prototype and the properties of `prototype`. */
function replaced<T extends object>(prototype: T, by: object): T {
  Object.setPrototypeOf(by, Object.getPrototypeOf(prototype) as object);
  return Object.defineProperties(by, Object.getOwnPropertyDescriptors(prototype)) as T;
}
