/**
 * The server's own modules and most of its packages joined into few files: a start opens and compiles a few large ones in
 * place of one for each module.
 */
import { dirname, join, relative, resolve } from 'node:path';
import { root } from './tree.mjs';

/**
 * Packages that stay packages beside kithdb: native ones, the API that shares its state with the SDK of the user's program,
 * and one that the server requires only where there is a YAML file.
 */
export const UNBUNDLED = ['@node-rs/argon2', '@opentelemetry/api', 'sqlite3', 'yaml'];

/** Folders of `src` that are packages of their own, which kithdb loads where they are there. */
const LOADED = /^\.\.\/(?:cluster|local-models|mcp)\/index\.js$/;

/** What `bin/kithdb.js` and `package.json` name. */
const ENTRIES = {
  main: join('src', 'main.ts'),
  index: join('src', 'index.ts'),
  'cluster-host': join('src', 'cluster-host.ts'),
};

/** The sources of the package `@kithdb/cluster`, and how it names what it shares with the kithdb that loads it. */
const CLUSTER = join(root, 'src', 'cluster');
const CLUSTER_HOST = 'kithdb/cluster-host';

/** What the thread of a further event loop runs: one file, so that it loads nothing that only the main one needs. */
const EVENT_LOOP = { 'event-loop': join('src', 'event-loops', 'event-loop.ts') };

/** Writes the joined files into a folder. */
export async function bundle(folder) {
  await write(folder, ENTRIES, {});
  await write(folder, EVENT_LOOP, { codeSplitting: false });
}

/** Writes what reads a command line into a folder, `main.js`: without types or engine, in about two seconds. */
export async function bundleCommandLine(folder) {
  await write(folder, { main: ENTRIES.main }, {});
}

/** Writes the sources of `@kithdb/cluster` into a folder, as one file. */
export async function bundleCluster(folder) {
  await write(
    folder,
    { index: join(CLUSTER, 'index.ts') },
    { codeSplitting: false },
    { external: [/^node:/, /^@nats-io\//, /^@aws-sdk\//], resolveId: sharedModule },
  );
}

async function write(
  folder,
  input,
  output,
  { external = [/^node:/, ...UNBUNDLED], resolveId = loadedPackage } = {},
) {
  // Not at the top: in a fresh clone the packages are installed after this module is loaded.
  const { rolldown } = await import('rolldown');
  const bundled = await rolldown({
    cwd: root,
    input,
    platform: 'node',
    tsconfig: join(root, 'tsconfig.build.json'),
    external,
    plugins: [{ name: 'other-packages', resolveId }],
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

/** What the sources of the cluster import of the others is a module of kithdb's: its classes and the engine are there once. */
function sharedModule(id, importer) {
  if (importer === undefined || !id.startsWith('.')) return undefined;
  const isOutside = relative(CLUSTER, resolve(dirname(importer), id)).startsWith('..');
  return isOutside ? { id: CLUSTER_HOST, external: true } : undefined;
}
