import { executeJson, type Executor } from '../engine/json-call';
import { EngineError, type EngineRequest } from '../engine/types';

/** A collection that is to be made of the files in a folder, relative to the data directory. */
export interface AdoptedFolder {
  readonly name: string;
  readonly folder: string;
}

/** A large collection takes a while, and nothing else of it waits meanwhile. */
const MAX_SECONDS = 3600;

/**
 * Writes a checkpoint of a collection, and hard-links its files into a folder that is there, relative to the data
 * directory. Rejects with an `EngineError`.
 */
export async function linkFiles(engine: Executor, collection: string, folder: string): Promise<void> {
  await execute(engine, { operation: 'link_snapshot', collection }, { folder });
}

/**
 * Makes collections of what {@link linkFiles} has linked somewhere, each in the place of one that has its name: all of them at
 * once or none, durable when it resolves. The folders stay. Rejects with an `EngineError`: `bad_request` where a folder
 * holds something else.
 */
export async function adoptFolders(engine: Executor, collections: readonly AdoptedFolder[]): Promise<void> {
  await execute(engine, { operation: 'adopt_folders' }, { collections });
}

/** The names of all collections. */
export async function collectionNames(engine: Executor): Promise<readonly string[]> {
  const { collections } = (await execute(engine, { operation: 'list_collections' })) as {
    readonly collections: readonly { readonly name: string }[];
  };
  return collections.map(({ name }) => name);
}

/**
 * The collection that a name means, which may be that of an alias. A name that means none is answered as it is: a collection
 * of it may have been deleted, or is to be made.
 */
export async function collectionNamed(engine: Executor, name: string): Promise<string> {
  try {
    const { aliases } = (await execute(engine, { operation: 'collection_aliases', collection: name })) as {
      readonly aliases: readonly { readonly collection_name: string }[];
    };
    return aliases[0]?.collection_name ?? name;
  } catch (error) {
    if (isGone(error)) return name;
    throw error;
  }
}

/** Whether there is no such collection, or none any more. */
export function isGone(error: unknown): boolean {
  return error instanceof EngineError && /^collection_(?:not_found|deleted)$/.test(error.code);
}

/** Deletes a collection; one that is gone already is no error. */
export async function deleteCollection(engine: Executor, collection: string): Promise<void> {
  try {
    await engine.execute({ operation: 'delete_collection', collection });
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

export async function collectionExists(engine: Executor, collection: string): Promise<boolean> {
  const found = await execute(engine, { operation: 'collection_exists', collection });
  return (found as { readonly exists: boolean }).exists;
}

function execute(engine: Executor, request: EngineRequest, json?: object): Promise<unknown> {
  return executeJson(engine, { ...request, timeoutSeconds: MAX_SECONDS }, json);
}
