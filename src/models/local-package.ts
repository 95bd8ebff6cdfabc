import { createRequire } from 'node:module';
import type * as LocalModels from '../local-models';
import { wayToInstall } from '../system/optional-package';

/** What the optional package exports. */
export type LocalModelsPackage = Pick<typeof LocalModels, 'openModel'>;

const PACKAGE = '@kithdb/models';

/** What is missing where the package is, and how to get it. */
export function localModelsAdvice(): string {
  return `a model in a folder needs the package ${PACKAGE}: ${wayToInstall(PACKAGE)}`;
}

const load = createRequire(__filename);

/**
 * The package that runs models of folders: that which is installed beside kithdb, or the sources of a clone.
 * @throws Error with the way to install it.
 */
export async function loadLocalModels(): Promise<LocalModelsPackage> {
  try {
    return load(PACKAGE) as LocalModelsPackage;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  try {
    return await import('../local-models/index.js');
  } catch (error) {
    throw isMissing(error) ? new Error(localModelsAdvice(), { cause: error }) : error;
  }
}

/** Whether an error says that a package, or a part of it, is not installed. */
export function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND';
}
