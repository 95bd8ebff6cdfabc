import { KithError, NotImplementedError } from '../client/errors';
import type { Transport } from '../client/transport';

/** A further name of a collection. */
export interface Alias {
  readonly alias: string;
  readonly collection: string;
}

/** What became of the aliases of the collections that were to be migrated. */
export interface AliasOutcome {
  /** How many the source has. */
  readonly source: number;
  /** How many of them mean their collections in the target. */
  readonly target: number;
}

/** What was done, and a sentence for each alias that is not migrated. */
export interface MigratedAliases {
  readonly outcome: AliasOutcome;
  readonly leftBehind: readonly string[];
}

/**
 * Makes aliases in the target and counts them there. One whose collection is not among `migrated`, whose name is taken or
 * which is refused is named, and the others are made. What exists already stays as it is.
 */
export async function migrateAliases(
  aliases: readonly Alias[],
  migrated: ReadonlySet<string>,
  target: Transport,
): Promise<MigratedAliases> {
  const source = aliases.length;
  if (source === 0) return { outcome: { source, target: 0 }, leftBehind: [] };
  try {
    const leftBehind: string[] = [];
    const before = await aliasesOf(target);
    for (const one of aliases) {
      const why = migrated.has(one.collection)
        ? await make(one, before.get(one.alias), target)
        : 'the collection is not';
      if (why !== undefined)
        leftBehind.push(`The alias ${one.alias} of ${one.collection} is not migrated: ${why}`);
    }
    const after = await aliasesOf(target);
    const there = aliases.filter(({ alias, collection }) => after.get(alias) === collection);
    return { outcome: { source, target: there.length }, leftBehind };
  } catch (error) {
    if (!(error instanceof NotImplementedError)) throw error;
    const names = aliases.map(
      ({ alias, collection }) => `The alias ${alias} of ${collection} is not migrated`,
    );
    return {
      outcome: { source, target: 0 },
      leftBehind: [...names, 'A server takes aliases in the dialect qdrant: run this command again then'],
    };
  }
}

/** Makes one; a sentence where it is not made. `existing` is what a name means already. */
async function make(
  { alias, collection }: Alias,
  existing: string | undefined,
  target: Transport,
): Promise<string | undefined> {
  if (existing === collection) return undefined;
  if (existing !== undefined) return `the name is an alias of ${existing} already`;
  const actions = [{ create_alias: { alias_name: alias, collection_name: collection } }];
  try {
    await target.execute({ operation: 'change_aliases', body: { actions } });
    return undefined;
  } catch (error) {
    if (error instanceof KithError && [400, 409].includes(error.status)) return error.message;
    throw error;
  }
}

/** The collections of all aliases, by their names. */
async function aliasesOf(target: Transport): Promise<ReadonlyMap<string, string>> {
  const { result } = await target.execute({ operation: 'list_aliases' });
  const { aliases } = result as {
    readonly aliases: readonly { readonly alias_name: string; readonly collection_name: string }[];
  };
  return new Map(aliases.map(({ alias_name: alias, collection_name: collection }) => [alias, collection]));
}
