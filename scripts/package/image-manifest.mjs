/**
 * `node scripts/package/image-manifest.mjs`, in the build of the image: package.json becomes that of the image, so that
 * `npm prune` removes the packages that are in the files of dist/. Nothing is installed from it: sqlite3 is compiled.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../build/tree.mjs';
import { imageManifest } from './manifest.mjs';

const file = join(root, 'package.json');
writeFileSync(file, `${JSON.stringify(imageManifest(JSON.parse(readFileSync(file, 'utf8'))), null, 2)}\n`);
