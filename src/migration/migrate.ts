import { BadRequestError } from '../client/errors';
import type { Transport } from '../client/transport';
import { SourceError } from '../transfer/row';
import { migrateAliases, type Alias, type AliasOutcome } from './aliases';
import { copyCollection, type CopyObserver } from './copy';
import { createCollection, createIndex } from './create';
import type { CollectionOutcome } from './outcome';
import type { MigrationSource, SourceCollection } from './source';
import type { MigrationState } from './state';

/** What a migration reports to. */
export interface MigrationObserver extends CopyObserver {
  readonly finished: (outcome: CollectionOutcome) => void;
}

/** What a migration did, or what a dry run says that it would do. */
export interface MigrationOutcome {
  /** What the source says it is. */
  readonly source: string;
  readonly collections: readonly CollectionOutcome[];
  /** The aliases of the migrated collections. */
  readonly aliases: AliasOutcome;
  /** What is not migrated beside the collections, one sentence each. */
  readonly leftBehind: readonly string[];
}

/**
 * The collections to migrate: those that a text names, separated by commas, or all. A name may have commas itself: where a
 * part is the name of no collection, it is the beginning of one.
 * @throws SourceError for a name that there is not
 */
export async function chosenNames(
  source: MigrationSource,
  wanted: string | undefined,
): Promise<readonly string[]> {
  // First, so that another server's answers are not taken for those of this kind.
  await source.describe();
  const names = await source.collectionNames();
  return wanted === undefined ? names : [...new Set(namesIn(wanted.split(','), new Set(names)))];
}

function namesIn(parts: readonly string[], names: ReadonlySet<string>): readonly string[] {
  const found: string[] = [];
  for (let at = 0; at < parts.length;) {
    if (parts[at]?.trim() === '') {
      at += 1;
      continue;
    }
    const end = parts.findIndex((_, last) => last >= at && names.has(nameOf(parts, at, last + 1)));
    if (end < 0) {
      throw new SourceError(`There is no collection ${nameOf(parts, at, at + 1)} on the server of --from`);
    }
    found.push(nameOf(parts, at, end + 1));
    at = end + 1;
  }
  return found;
}

function nameOf(parts: readonly string[], from: number, to: number): string {
  return parts.slice(from, to).join(',').trim();
}

/**
 * Copies collections. One that cannot be created is named, and the others are copied.
 * @throws SourceError where a collection of the same name exists that this migration did not make
 */
export async function migrate(
  source: MigrationSource,
  names: readonly string[],
  target: Transport,
  state: MigrationState,
  observer: MigrationObserver,
  parallel: number,
): Promise<MigrationOutcome> {
  const description = await source.describe();
  await refuseExisting(names, target, state);
  const collections: CollectionOutcome[] = [];
  for (const name of names) {
    const known = state.done.find((outcome) => outcome.name === name);
    const outcome = known ?? (await one(await source.collection(name), target, state, observer, parallel));
    if (known === undefined) state.finish(outcome);
    observer.finished(outcome);
    collections.push(outcome);
  }
  // Behind the points: a name means a whole collection.
  const migrated = collections.filter(({ failure }) => failure === undefined).map(({ name }) => name);
  const { outcome: aliases, leftBehind } = await migrateAliases(
    await aliasesOf(source, names),
    new Set(migrated),
    target,
  );
  return { source: description, collections, aliases, leftBehind };
}

/** The aliases of collections. */
async function aliasesOf(source: MigrationSource, names: readonly string[]): Promise<readonly Alias[]> {
  const all = await source.aliases();
  return all.filter(({ collection }) => names.includes(collection));
}

/** What a migration would do, tried with empty collections in `scratch`. */
export async function dryRun(
  source: MigrationSource,
  names: readonly string[],
  scratch: Transport,
): Promise<MigrationOutcome> {
  const description = await source.describe();
  const collections: CollectionOutcome[] = [];
  for (const name of names) {
    collections.push(await dryRunOf(await source.collection(name), scratch));
  }
  const migrated = collections.filter(({ failure }) => failure === undefined).map(({ name }) => name);
  const { outcome: aliases, leftBehind } = await migrateAliases(
    await aliasesOf(source, names),
    new Set(migrated),
    scratch,
  );
  return { source: description, collections, aliases, leftBehind };
}

async function dryRunOf(source: SourceCollection, scratch: Transport): Promise<CollectionOutcome> {
  if (source.config === undefined) return notMigrated(source);
  try {
    const remarks = [...source.remarks, ...(await createCollection(scratch, source.name, source.config))];
    for (const index of source.indexes) remarks.push(...(await createIndex(scratch, source.name, index)));
    return { ...emptyOutcome(source), indexes: source.indexes.length, remarks };
  } catch (error) {
    return notMigrated(source, error);
  }
}

async function refuseExisting(
  names: readonly string[],
  target: Transport,
  state: MigrationState,
): Promise<void> {
  const { result } = await target.execute({ operation: 'list_collections' });
  const { collections } = result as { readonly collections: readonly { readonly name: string }[] };
  const existing = new Set(collections.map(({ name }) => name));
  const isOwn = (name: string): boolean =>
    state.begun(name) !== undefined || state.done.some((outcome) => outcome.name === name);
  const taken = names.filter((name) => existing.has(name) && !isOwn(name));
  if (taken.length > 0) {
    const hint = state.isWritten ? ', or go on with the interrupted migration with --resume' : '';
    throw new SourceError(
      `There are collections of the same name already: ${taken.join(', ')}. Delete them, name others with --collections${hint}`,
    );
  }
}

async function one(
  source: SourceCollection,
  target: Transport,
  state: MigrationState,
  observer: MigrationObserver,
  parallel: number,
): Promise<CollectionOutcome> {
  if (source.config === undefined) return notMigrated(source);
  try {
    return await copyCollection(source, target, state, observer, parallel);
  } catch (error) {
    // What is refused is of this collection; all else ends the migration, which can be resumed.
    if (!(error instanceof BadRequestError) || state.begun(source.name)?.isCreated === true) throw error;
    return notMigrated(source, error);
  }
}

function emptyOutcome(source: SourceCollection): CollectionOutcome {
  const { name, points, remarks } = source;
  return { name, points, stored: 0, rejected: 0, indexes: 0, remarks, compared: undefined };
}

function notMigrated(source: SourceCollection, error?: unknown): CollectionOutcome {
  const failure = error === undefined ? source.remarks.at(-1) : (error as Error).message;
  return { ...emptyOutcome(source), failure: failure ?? 'it cannot be created' };
}
