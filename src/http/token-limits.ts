import type { Permission } from './authorization';
import { forbidden, noCollectionAccess, type Failure } from './errors';
import type { Route } from './route-table';
import { COLLECTION_PARAMETER } from './route-table';
import type { PathParams } from './target';

/** A collection, or all whose names begin so, with what an access token may do in it. */
export interface CollectionGrant {
  readonly name?: string | undefined;
  readonly prefix?: string | undefined;
  /** `read`, `write`, or both. */
  readonly permissions: ReadonlySet<Permission>;
}

/** What an access token may reach (C15). The rights are what its permissions and these allow. */
export interface TokenLimits {
  /** All collections where absent. */
  readonly collections?: readonly CollectionGrant[] | undefined;
  /** Whether it sees only some points of them. */
  readonly hasFilter: boolean;
  /** The limits as JSON, for the engine, which reads the collections that a body names and the filter. */
  readonly text: string;
}

/**
 * What a route reaches of the data (C15):
 * `points`: points of the collection in its path; the engine keeps a token with a filter to those that match.
 * `description`: what is said of the collection in its path, which the engine leaves counts out of for such a token.
 * `collection`: that collection as a whole, which is refused to such a token.
 * `list`: the names of collections; the engine leaves out those that the token does not allow.
 * `server`: what is about all collections, or shows their content by the file: only for tokens without limits.
 * `nothing`: none of it.
 */
export type Reach = 'points' | 'description' | 'collection' | 'list' | 'server' | 'nothing';

/** Where the body of a route names collections: the engine checks them as soon as it has read them. */
export type NamedInBody = 'lookup_from' | 'name';

const NEEDS_NO_LIMITS = 'Permission denied: an access token without collections and filter required';
const IS_FOR_POINTS = 'Permission denied: an access token with a filter is for points only';

/** Why a route is refused to a token with limits; undefined when it is not. Its permissions were checked before. */
export function refuseByLimits(
  route: Route,
  { values, undecodable }: PathParams,
  limits: TokenLimits,
): Failure | undefined {
  const reach = reachOf(route);
  switch (reach) {
    case 'nothing':
    case 'list':
      return undefined;
    case 'server':
      return forbidden(NEEDS_NO_LIMITS);
    case 'points':
    case 'description':
    case 'collection': {
      const name = values[COLLECTION_PARAMETER];
      const isNamed = name !== undefined && !undecodable.includes(COLLECTION_PARAMETER);
      if (!isNamed || !allows(limits, name, route.permission)) {
        return noCollectionAccess();
      }
      return reach === 'collection' && limits.hasFilter ? forbidden(IS_FOR_POINTS) : undefined;
    }
  }
}

/** Whether a token with limits may do in a collection what a route needs. */
function allows({ collections }: TokenLimits, name: string, needed: Route['permission']): boolean {
  return (
    collections === undefined ||
    collections.some(
      (grant) =>
        (grant.name === name || (grant.prefix !== undefined && name.startsWith(grant.prefix))) &&
        (needed === 'read' || needed === 'write'
          ? grant.permissions.has(needed)
          : grant.permissions.size > 0),
    )
  );
}

/** What a route reaches: those outside the data have no such property. */
export function reachOf(route: Route): Reach {
  switch (route.kind) {
    case 'plain':
    case 'auth':
      return 'nothing';
    case 'handled':
      // What the tools of MCP do comes back as requests of the same token.
      return 'nothing';
    case 'service':
      // Snapshots: they have the content of collections as a whole, or of all.
      return 'server';
    case 'engine':
    case 'report':
    case 'unimplemented':
      return route.reach;
  }
}
