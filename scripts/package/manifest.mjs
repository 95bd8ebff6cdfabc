/** The package.json that is published, made of the tree's: what a user's package manager reads, and nothing else. */

import { UNBUNDLED } from '../build/bundle.mjs';

const KEPT = [
  ...['name', 'version', 'description', 'license', 'repository', 'keywords'],
  ...['type', 'bin', 'main', 'types', 'exports', 'files', 'engines', 'dependencies'],
  ...['optionalDependencies', 'peerDependencies', 'peerDependenciesMeta'],
];

/**
 * sqlite3's install script fetches a binary that nothing verifies, so kithdb does not bring it: whoever wants it
 * installs it, compiled from source.
 */
const LEFT_TO_USERS = ['sqlite3'];

/**
 * @param {Record<string, any>} tree package.json of the source tree
 * @returns {Record<string, any>}
 */
export function publishedManifest(tree) {
  const manifest = kept(tree);
  const isLeft = ([name]) => LEFT_TO_USERS.includes(name);
  const isInstalled = ([name]) => UNBUNDLED.includes(name) && !LEFT_TO_USERS.includes(name);
  const all = Object.entries(tree.dependencies);
  const left = all.filter(isLeft);
  return {
    ...manifest,
    // The other ones are in the files of dist/.
    dependencies: Object.fromEntries(all.filter(isInstalled)),
    peerDependencies: { ...manifest.peerDependencies, ...Object.fromEntries(left) },
    peerDependenciesMeta: {
      ...manifest.peerDependenciesMeta,
      ...Object.fromEntries(left.map(([name]) => [name, { optional: true }])),
    },
  };
}

function kept(tree) {
  return Object.fromEntries(KEPT.filter((key) => key in tree).map((key) => [key, tree[key]]));
}

/**
 * That of the image, where sqlite3 stands compiled, nobody installs further packages, and the libraries of a cluster are there.
 *
 * @param {Record<string, any>} tree package.json of the source tree
 * @returns {Record<string, any>}
 */
export function imageManifest(tree) {
  const isInstalled = ([name]) => UNBUNDLED.includes(name);
  return {
    ...kept(tree),
    dependencies: {
      ...Object.fromEntries(Object.entries(tree.dependencies).filter(isInstalled)),
      ...OPTIONAL_PACKAGES.find(({ isBundled }) => isBundled).dependencies(tree.devDependencies),
    },
  };
}

/**
 * A package of its own, whose sources are a folder of the tree: kithdb loads it.
 *
 * @typedef {object} OptionalPackage
 * @property {string} name
 * @property {string} folder below `src` and `dist`
 * @property {string} description
 * @property {boolean} [isBundled] whether it is one file, which has modules of kithdb from the installation that loads it;
 *   the others have none
 * @property {string[]} keywords
 * @property {string} readme what it is for
 * @property {(development: Record<string, string>) => Record<string, string>} dependencies from those of the tree
 */

/** @type {OptionalPackage[]} */
export const OPTIONAL_PACKAGES = [
  {
    name: '@kithdb/cluster',
    folder: 'cluster',
    isBundled: true,
    description: 'kithdb on several machines, over NATS JetStream',
    keywords: ['cluster', 'replication', 'kithdb', 'vector-database'],
    readme:
      'kithdb on several machines, over NATS JetStream. kithdb of the same version loads it where its setting `cluster` names log servers. Install it beside kithdb.',
    dependencies: (tree) => of(tree, ['@aws-sdk/client-s3', '@nats-io/jetstream', '@nats-io/transport-node']),
  },
  {
    name: '@kithdb/mcp',
    folder: 'mcp',
    description: 'The MCP server of kithdb',
    keywords: ['mcp', 'kithdb', 'vector-database'],
    readme:
      'The MCP server of kithdb, which loads it: for `kithdb mcp`, and for `/mcp` of a server. Install it beside kithdb.',
    dependencies: (tree) => of(tree, ['@modelcontextprotocol/sdk', 'zod']),
  },
  {
    name: '@kithdb/models',
    folder: 'local-models',
    description: 'Models of texts for kithdb, from folders, in its own process',
    keywords: ['embeddings', 'onnx', 'kithdb', 'vector-database'],
    readme:
      'Models of texts for kithdb, which loads it where its setting `models` names a folder. Install it beside kithdb. No install script is needed: that of onnxruntime-node fetches libraries for graphics cards, which kithdb does not use.',
    // The tree has the types of the runtime, which are of the same version; its libraries are 200 MB.
    dependencies: (tree) => ({
      ...of(tree, ['@huggingface/tokenizers']),
      'onnxruntime-node': tree['onnxruntime-common'],
    }),
  },
];

function of(tree, names) {
  return Object.fromEntries(names.map((name) => [name, tree[name]]));
}

/**
 * @param {OptionalPackage} optional
 * @param {Record<string, any>} tree package.json of the source tree
 * @returns {Record<string, any>}
 */
export function optionalManifest({ name, description, keywords, dependencies, isBundled }, tree) {
  const { version, license, repository, engines } = tree;
  return {
    name,
    ...{ version, license, repository },
    description,
    keywords,
    type: 'commonjs',
    main: './dist/index.js',
    // What is bundled has no types of its own: kithdb alone loads it.
    ...(!isBundled && { types: './dist/index.d.ts' }),
    files: ['dist', 'LICENSE', 'README.md'],
    engines,
    dependencies: dependencies(tree.devDependencies),
    // Not installed with it, because a registry might have another one: it is there.
    ...(isBundled && {
      peerDependencies: { kithdb: version },
      peerDependenciesMeta: { kithdb: { optional: true } },
    }),
  };
}
