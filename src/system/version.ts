import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder } from './package-folder';

/** What is read of the `package.json` of this package. */
export interface Manifest {
  readonly version: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** The `package.json` of this package. */
export function ownManifest(): Manifest {
  return JSON.parse(readFileSync(join(packageFolder(), 'package.json'), 'utf8')) as Manifest;
}

/** The version of this package. */
export function productVersion(): string {
  return ownManifest().version;
}
