import type { Operation } from '../engine/types';
import { engineRoutes } from '../engine-routes';
import type { EngineRoute } from '../http/route-table';
import type { Call, CallFlags } from './transport';

/** The line of the route table for each operation. */
const ROUTES: ReadonlyMap<Operation, EngineRoute> = new Map(
  engineRoutes.map((route) => [route.operation, route]),
);

/** Where an operation is, and whether it has a body. */
export interface HttpTarget {
  readonly method: string;
  readonly path: string;
  readonly hasBody: boolean;
}

/** The method and the path, with its query string, of a call. */
export function httpTarget({ operation, collection, target, flags }: Call): HttpTarget {
  const route = ROUTES.get(operation);
  if (route === undefined) {
    throw new Error(`No route has the operation ${operation}`);
  }
  const path = route.path.replaceAll(/:([a-z_]+)/g, (_parameter, name: string) =>
    encodeURIComponent((name === route.target ? target : collection) ?? ''),
  );
  return { method: route.method, path: path + queryString(flags), hasBody: route.body };
}

function queryString(flags: CallFlags = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(flags)) {
    if (value !== undefined && value !== null) {
      parameters.set(name, String(value));
    }
  }
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}
