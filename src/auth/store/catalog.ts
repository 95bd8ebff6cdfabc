import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { EngineError, type Engine } from '../../engine/types';
import { reasonOf } from '../../files/explained';
import { StoreUnavailable } from './connection';
import { StoreDamaged } from './port';

/** The catalog of an engine that is open. */
export type EngineCatalog = Pick<Engine, 'authGeneration' | 'noteAuthGeneration'>;

/**
 * The catalog of the engine, which has the generation of the store too (C3.8): a folder in which an older store and its
 * older digest file were put, or from which both were removed, is noticed by it.
 */
export interface Catalog {
  /** The generation that it has; 0 where it has none. */
  generation(): Promise<number>;
  /**
   * Notes the generation of a store whose file and digest file are durable. A failure is no error: a store that is newer
   * than the catalog is accepted, and the engine tries again.
   */
  note(generation: number): Promise<void>;
}

/** The catalog of a folder as its files have it, whichever process has the folder open. Nothing is noted in it. */
export class CatalogAtRest implements Catalog {
  constructor(private readonly dataDir: string) {}

  /** @throws StoreUnavailable when the files cannot be read. */
  async generation(): Promise<number> {
    // The binding is loaded only where it has something to read.
    if (!(await hasData(this.dataDir))) {
      return 0;
    }
    const { readCatalogGeneration } = await import('../../engine/offline.js');
    try {
      return await readCatalogGeneration(this.dataDir);
    } catch (error) {
      const why = `The catalog of the engine, with which the store of authentication is compared, cannot be read: ${reasonOf(error)}`;
      throw new StoreUnavailable(why, { cause: error });
    }
  }

  note(): Promise<void> {
    return Promise.resolve();
  }
}

/** The catalog of a folder that a server serves: as its files have it, until the engine is ready. */
export class ServedCatalog implements Catalog {
  readonly #atRest: Catalog;
  #engine: EngineCatalog | undefined;

  constructor(
    dataDir: string,
    private readonly log: Logger,
  ) {
    this.#atRest = new CatalogAtRest(dataDir);
  }

  /** From now on the engine is asked. */
  useEngine(engine: EngineCatalog): void {
    this.#engine = engine;
  }

  async generation(): Promise<number> {
    return this.#engine === undefined ? this.#atRest.generation() : this.#engine.authGeneration();
  }

  async note(generation: number): Promise<void> {
    try {
      await this.#engine?.noteAuthGeneration(generation);
    } catch (error) {
      // The next start brings it up.
      if (error instanceof EngineError && error.code === 'shutting_down') return;
      this.log.warn(
        { err: error, generation },
        'the catalog of the engine does not have the last change of the store of authentication yet',
      );
    }
  }
}

/** A store of the former schema, which has no generation. */
export const FORMER = 'former';

/** The generation of a store; 0 where there is none, or none with rows. */
export type StoreGeneration = number | typeof FORMER;

/** @throws StoreDamaged where the catalog has a later generation than the store. */
export async function refuseOlder(
  path: string,
  generation: StoreGeneration,
  catalog: Catalog,
): Promise<void> {
  const what = whyOlder(generation, await catalog.generation());
  if (what !== undefined) {
    throw new StoreDamaged(path, what);
  }
}

/** What is wrong with a store beside a catalog that has the generation `noted`. */
export function whyOlder(generation: StoreGeneration, noted: number): string | undefined {
  if (generation === 0 && noted > 0) {
    return `it is missing or empty, and the catalog of the engine has generation ${noted} of it`;
  }
  if (generation === FORMER ? noted === 0 : noted <= generation) {
    return undefined;
  }
  const which = generation === FORMER ? 'an earlier release wrote it' : `generation ${generation}`;
  return `it is older (${which}) than the catalog of the engine (generation ${noted})`;
}

/** Whether an engine was opened in a data directory, which a server does after it has made the store. */
export async function hasData(dataDir: string): Promise<boolean> {
  return (await isThere(join(dataDir, 'log'))) || (await isThere(join(dataDir, 'catalog')));
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
