import { EngineError } from '../../engine/types';
import type { ShardLayout } from '../../engine/sharding';
import { collectionNamed, type CollectionEntry, type ShardMapState } from '../map/state';
import { layoutOf } from './layout';
import type { CallerLimits } from './limits';

/** The collections that the body of a read may name in `lookup_from` and `with_lookup`: those that its caller may read. */
export interface NamedCollections {
  /** The other collections, by each of their names. */
  readonly others: Readonly<Record<string, ShardLayout>>;
  /** The names of the collection itself. */
  readonly otherNames: readonly string[];
  /** The error for the client: a collection that it may not read is refused so whether it exists or not (C15). */
  readonly refusal: (error: unknown) => unknown;
}

/** What a read of a collection may name; nothing where its body has no place for a name. */
export function namedIn(
  state: ShardMapState,
  entry: CollectionEntry,
  body: Buffer,
  limits: CallerLimits,
): NamedCollections {
  const [others, otherNames]: [[string, ShardLayout][], string[]] = [[], []];
  const refusal = (error: unknown): unknown => {
    const isAbsent = error instanceof EngineError && error.code === 'collection_not_found';
    const { name } = isAbsent ? error.details : {};
    return name === undefined || limits.allows(name, 'read')
      ? error
      : new EngineError('collection_forbidden');
  };
  // A backslash may be an escape in one of the two.
  if (body.includes('lookup') || body.includes('\\')) {
    for (const name of [...state.names.keys(), ...state.aliases.keys()]) {
      const named = collectionNamed(state, name);
      if (named === undefined || !limits.allows(name, 'read')) continue;
      if (named.id === entry.id) otherNames.push(name);
      else others.push([name, layoutOf(named)]);
    }
  }
  return { others: Object.fromEntries(others), otherNames, refusal };
}
