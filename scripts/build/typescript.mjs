/** The TypeScript sources compiled to `dist/`. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { announce, mustRun } from './process.mjs';
import { fingerprint, isCurrent, remember, root } from './tree.mjs';

const dist = join(root, 'dist');

/** Whether `dist/` was compiled from these sources. */
export function typeScriptIsCompiled() {
  return existsSync(dist) && isCurrent('dist', sourceDigest());
}

function sourceDigest() {
  return fingerprint(
    ['src', 'tsconfig.json', 'tsconfig.build.json', 'package.json'],
    // The front-end of the console is built by itself.
    (name) => !name.startsWith(join('src', 'console', 'app')),
  );
}

/** Compiles `src/` if it changed since `dist/` was made. A failed compile leaves the old `dist/` in place. */
export async function compileTypeScript() {
  if (typeScriptIsCompiled()) return;
  const digest = sourceDigest();
  const next = join(root, '.build', 'dist');
  rmSync(next, { recursive: true, force: true });
  await announce('Compiling TypeScript', () =>
    mustRun('tsc-build', process.execPath, [
      join(root, 'node_modules', 'typescript', 'bin', 'tsc'),
      '--project',
      'tsconfig.build.json',
      '--outDir',
      next,
    ]),
  );
  rmSync(dist, { recursive: true, force: true });
  renameSync(next, dist);
  remember('dist', digest);
}
