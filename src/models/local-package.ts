import { createRequire } from 'node:module';
import type * as LocalModels from '../local-models';

/** What the optional package exports. */
export type LocalModelsPackage = Pick<typeof LocalModels, 'openModel'>;

const PACKAGE = '@kithdb/models';
/** Nobody has published the package: a name in a registry could be anybody's. */
export const LOCAL_MODELS_ADVICE = `a model in a folder needs the package ${PACKAGE}: npm run pack in a clone makes its tarball, and npm install --ignore-scripts ./kithdb-models-VERSION.tgz beside kithdb installs it (with --global where kithdb is installed so)`;

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
    throw isMissing(error) ? new Error(LOCAL_MODELS_ADVICE, { cause: error }) : error;
  }
}

/** Whether an error says that a package, or a part of it, is not installed. */
export function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND';
}
