import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder } from './package-folder';
import { ownManifest, type Manifest } from './version';

/** The packages that are installed beside kithdb by who needs them. */
export type OptionalPackage = '@kithdb/cluster' | '@kithdb/mcp' | '@kithdb/models';

/** A source tree may be newer than what is published. */
const IS_SOURCE_TREE = existsSync(join(packageFolder(), 'Cargo.toml'));

/**
 * How an optional package gets beside this kithdb, as a clause. Only the manifest of a release names its engines: then all
 * packages of its version are on the registry that it came from. Before, a name there could be anybody's.
 */
export function wayToInstall(
  name: OptionalPackage,
  manifest: Manifest = ownManifest(),
  isSourceTree = IS_SOURCE_TREE,
): string {
  // The runtime of models has a script that fetches libraries for graphics cards.
  const install = name === '@kithdb/models' ? 'npm install --ignore-scripts' : 'npm install';
  const where = 'beside kithdb installs it (with --global where kithdb is installed so)';
  const isRelease = Object.keys(manifest.optionalDependencies ?? {}).some((engine) =>
    engine.startsWith('@kithdb/engine-'),
  );
  if (isRelease && !isSourceTree) {
    return `${install} ${name}@${manifest.version} ${where}`;
  }
  const tarball = `./${name.slice(1).replace('/', '-')}-${manifest.version}.tgz`;
  return `npm run pack in a clone makes its tarball, and ${install} ${tarball} ${where}`;
}
