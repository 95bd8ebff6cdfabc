import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

let found: string | undefined;

/**
 * The folder of this package, which has its `package.json`: the root of a clone, or `node_modules/kithdb`. The build joins
 * source files, so no module knows how many folders above it that is.
 */
export function packageFolder(): string {
  found ??= nearestWithManifest(__dirname);
  return found;
}

function nearestWithManifest(folder: string): string {
  return existsSync(join(folder, 'package.json')) || folder === dirname(folder)
    ? folder
    : nearestWithManifest(dirname(folder));
}
