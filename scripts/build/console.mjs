/** The web console: `src/console/app` as static files in `dist/console/app`, each also compressed. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { announce, mustRun } from './process.mjs';
import { fingerprint, isCurrent, remember, root } from './tree.mjs';

const SOURCE = join('src', 'console', 'app');
const target = join(root, 'dist', 'console', 'app');
/** Compiling the server replaces `dist/`; what was built is kept here. */
const kept = join(root, '.build', 'console');

/** Whether the console in `dist/` was built from these sources. */
export function consoleIsBuilt() {
  return existsSync(kept) && existsSync(target) && isCurrent('console', sourceDigest());
}

function sourceDigest() {
  return fingerprint([SOURCE, join('scripts', 'build', 'console.mjs'), 'package-lock.json']);
}

/** Builds the console if its sources or its packages changed, and puts it into `dist/`. */
export async function buildConsole() {
  if (consoleIsBuilt()) return;
  const digest = sourceDigest();
  const isBuilt = existsSync(kept) && isCurrent('console', digest);
  if (!isBuilt) {
    await announce('Building the console', () => build(kept));
    remember('console', digest);
  }
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  cpSync(kept, target, { recursive: true });
}

/** Vite runs in a process of its own: the build of the server loads none of its packages. */
async function build(folder) {
  await mustRun('console', process.execPath, [
    join(root, 'node_modules', 'vite', 'bin', 'vite.js'),
    'build',
    join(root, SOURCE),
    '--outDir',
    folder,
    '--emptyOutDir',
  ]);
  for (const name of readdirSync(folder)) compress(join(folder, name));
}

/** Once here, at the highest levels, and never while the server runs. */
function compress(path) {
  const bytes = readFileSync(path);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }));
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
}
