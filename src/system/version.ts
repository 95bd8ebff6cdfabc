import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What is read of the `package.json` of this package. */
export interface Manifest {
  readonly version: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** The `package.json` of this package, which lies one folder above both `src` and `dist`. */
export function ownManifest(): Manifest {
  return JSON.parse(readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8')) as Manifest;
}

/** The version of this package. */
export function productVersion(): string {
  return ownManifest().version;
}
