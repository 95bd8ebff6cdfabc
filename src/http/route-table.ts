import type { RequestHandler } from 'express';
import type { Operation } from '../engine/types';
import type { ReadAudited } from './audited-body';
import type { Exchange } from './exchange';
import type { ParameterKind } from './parameters';
import type { Method, RoutePermission } from './route';
import type { ServiceAnswer, ServiceCall } from './service-route';
import type { NamedInBody, Reach } from './token-limits';

/** What every line of the route table has. */
interface RouteLine {
  readonly method: Method;
  /** Express 5 syntax: only literal segments and `:name`, so that both matchers read it the same way. */
  readonly path: string;
  readonly permission: RoutePermission;
}

/** A route whose request goes to the engine as bytes and whose answer comes back as bytes. */
export interface EngineRoute extends RouteLine {
  readonly kind: 'engine';
  readonly operation: Operation;
  /** The prefix of this operation's internal failures (C1.4), without the colon. */
  readonly failed: string;
  readonly parameters: ParameterKind;
  /** Whether the endpoint reads a body; the engine refuses one that is missing or bad. */
  readonly body: boolean;
  /** Whether its body may be an Arrow IPC stream (C5.13), or lines of JSON (C5.14), of which each row is a point. */
  readonly takesRows?: boolean;
  /** The path parameter that becomes the engine's `target`. */
  readonly target?: string;
  /**
   * Whether the collection of the path is to be created. Then a name that cannot be decoded is a 400 (C2.2); on other
   * routes it is a collection that does not exist.
   */
  readonly createsCollection?: boolean;
  /** What it reaches of the data, for tokens with limits (C15). */
  readonly reach: Reach;
  /** The status of a success; 200 when absent. */
  readonly success?: 202;
  /** Where its body names other collections (C15). */
  readonly namedInBody?: NamedInBody;
  /** What the audit stream names of its body, beside the parameters of the path. */
  readonly audited?: ReadAudited;
}

/** A route of C8. */
export interface UnimplementedRoute extends RouteLine {
  readonly kind: 'unimplemented';
  readonly group: string;
  /** As that of a route of the engine. */
  readonly reach: Reach;
}

/** A plain endpoint (C9.2): no envelope, no credentials, in every state. */
export interface PlainRoute extends RouteLine {
  readonly kind: 'plain';
  readonly answer: (exchange: Exchange) => void;
}

/** A report about the server itself: checked like every other route, answered in every state, without an envelope. */
export interface ReportRoute extends RouteLine {
  readonly kind: 'report';
  /** As that of a route of the engine. */
  readonly reach: Reach;
  readonly report: () => Promise<Report>;
}

/** A text and its content type. */
export interface Report {
  readonly contentType: string;
  readonly text: string;
}

/**
 * A route that a service of this process answers: what it reads and writes is streamed, under limits of the service.
 */
export interface ServiceRoute extends RouteLine {
  readonly kind: 'service';
  /** The prefix of its internal failures (C1.4), without the colon. */
  readonly failed: string;
  /** Whether the audit stream has its requests. */
  readonly isAudited: boolean;
  /** Rejects with an `EngineError` or what is unexpected. */
  readonly serve: (call: ServiceCall) => Promise<ServiceAnswer>;
}

/** A route under `/auth`: checked like every other, then answered by Express handlers of its own. */
export interface AuthRoute extends RouteLine {
  readonly kind: 'auth';
  readonly handlers: readonly RequestHandler[];
}

/** A route with a protocol of its own: checked like every other, then answered by Express handlers. */
export interface HandledRoute extends RouteLine {
  readonly kind: 'handled';
  readonly handlers: readonly RequestHandler[];
  /** The largest body that is announced. */
  readonly bodyBytes: number;
}

export type Route =
  EngineRoute | UnimplementedRoute | PlainRoute | ReportRoute | AuthRoute | HandledRoute | ServiceRoute;

const PERMISSIONS: ReadonlySet<string> = new Set<RoutePermission>([
  'none',
  'any',
  'read',
  'write',
  'token-admin',
  'admin-jwt',
  'known-admin',
  'local',
]);

/** The path parameter that names a collection, in every path that has one. */
export const COLLECTION_PARAMETER = 'collection_name';

/** The start of every path of the points endpoints, which the hot lane serves. */
export const POINTS_PATH = `/collections/:${COLLECTION_PARAMETER}/points`;

/** Whether the hot lane serves this route. */
export function isPointsRoute(route: Route): boolean {
  return route.path === POINTS_PATH || route.path.startsWith(`${POINTS_PATH}/`);
}

/**
 * Checks the table before the server listens: a route without a known permission, a repeated line, or a path that the two
 * matchers would read differently, stops the start.
 * @throws Error naming the line.
 */
export function checkRouteTable(routes: readonly Route[]): void {
  const seen = new Set<string>();
  for (const route of routes) {
    const line = `${route.method} ${route.path}`;
    if (!PERMISSIONS.has(route.permission)) {
      throw new Error(`Route ${line} names no permission`);
    }
    if (!/^\/$|^(?:\/(?:[a-z_-]+(?:\.[a-z]+)?|:[a-z_]+))+$/.test(route.path)) {
      throw new Error(`Route ${line} has a path that is not made of literal segments and parameters`);
    }
    const shape = line.replaceAll(/:[a-z_]+/g, ':');
    if (seen.has(shape)) {
      throw new Error(`Route ${line} is in the table twice`);
    }
    seen.add(shape);
  }
}
