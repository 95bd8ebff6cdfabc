/** The TypeScript sources: compiled to `.build/compiled`, with their types, and joined to few files in `dist/`. */
import { cpSync, existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { OPTIONAL_PACKAGES } from '../package/manifest.mjs';
import { bundle, bundleCluster } from './bundle.mjs';
import { announce, mustRun } from './process.mjs';
import { fingerprint, isCurrent, remember, root } from './tree.mjs';

const dist = join(root, 'dist');

/** Each source by itself: for the scripts of this tree, and for the packages beside kithdb. */
export const compiled = join(root, '.build', 'compiled');

/** Whether `dist/` was made from these sources. */
export function typeScriptIsCompiled() {
  return existsSync(dist) && existsSync(compiled) && isCurrent('dist', sourceDigest());
}

function sourceDigest() {
  return fingerprint(
    [
      'src',
      'tsconfig.json',
      'tsconfig.build.json',
      'package-lock.json',
      join('scripts', 'build', 'bundle.mjs'),
    ],
    // The front-end of the console is built by itself.
    (name) => !name.startsWith(join('src', 'console', 'app')),
  );
}

/** Makes `dist/` if `src/` changed since it was made. A failure leaves the old `dist/` in place. */
export async function compileTypeScript() {
  if (typeScriptIsCompiled()) return;
  const digest = sourceDigest();
  const next = join(root, '.build', 'dist');
  for (const folder of [next, compiled]) rmSync(folder, { recursive: true, force: true });
  await announce('Compiling TypeScript', async () => {
    await mustRun('tsc-build', process.execPath, [
      join(root, 'node_modules', 'typescript', 'bin', 'tsc'),
      ...['--project', 'tsconfig.build.json', '--outDir', compiled],
    ]);
    await bundle(next);
    await bundleCluster(join(next, 'cluster'));
  });
  for (const { folder, isBundled } of OPTIONAL_PACKAGES) {
    if (!isBundled) cpSync(join(compiled, folder), join(next, folder), { recursive: true });
  }
  // The types of what `index.d.ts` exports are in the files of their modules.
  cpSync(compiled, next, { recursive: true, filter: (path) => !path.endsWith('.js') });
  rmSync(dist, { recursive: true, force: true });
  renameSync(next, dist);
  remember('dist', digest);
}
