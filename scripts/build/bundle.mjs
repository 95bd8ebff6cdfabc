/**
 * The server's own modules and most of its packages joined into few files: a start opens and compiles a few large ones in
 * place of one for each module.
 */
import { join } from 'node:path';
import { root } from './tree.mjs';

/**
 * Packages that stay packages beside kithdb: native ones, the API that shares its state with the SDK of the user's program,
 * and one that the server requires only where there is a YAML file.
 */
export const UNBUNDLED = ['@node-rs/argon2', '@opentelemetry/api', 'sqlite3', 'yaml'];

/** Folders of `src` that are packages of their own, which kithdb loads where they are there. */
const LOADED = /^\.\.\/(?:local-models|mcp)\/index\.js$/;

/** What `bin/kithdb.js` and `package.json` name. */
const ENTRIES = { main: join('src', 'main.ts'), index: join('src', 'index.ts') };

/** What the thread of a further event loop runs: one file, so that it loads nothing that only the main one needs. */
const EVENT_LOOP = { 'event-loop': join('src', 'event-loops', 'event-loop.ts') };

/** Writes the joined files into a folder. */
export async function bundle(folder) {
  await write(folder, ENTRIES, {});
  await write(folder, EVENT_LOOP, { codeSplitting: false });
}

async function write(folder, input, output) {
  // Not at the top: in a fresh clone the packages are installed after this module is loaded.
  const { rolldown } = await import('rolldown');
  const bundled = await rolldown({
    cwd: root,
    input,
    platform: 'node',
    tsconfig: join(root, 'tsconfig.build.json'),
    external: [/^node:/, ...UNBUNDLED],
    plugins: [{ name: 'loaded-packages', resolveId: loadedPackage }],
  });
  await bundled.write({
    ...output,
    dir: folder,
    format: 'cjs',
    exports: 'named',
    // All in one folder: a relative path is the same from each of them.
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    // A quarter of the bytes that a start reads would be comments. Names and lines stay, so that stacks can be read.
    comments: { legal: true, annotation: false, jsdoc: false },
  });
  await bundled.close();
}

/** They are required when they are needed, from their folder of `dist/`. */
function loadedPackage(id) {
  return LOADED.test(id) ? { id: id.replace('../', './'), external: true } : undefined;
}
