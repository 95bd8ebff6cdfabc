/** The package.json that is published, made of the tree's: what a user's package manager reads, and nothing else. */

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
  const manifest = Object.fromEntries(KEPT.filter((key) => key in tree).map((key) => [key, tree[key]]));
  const isLeft = ([name]) => LEFT_TO_USERS.includes(name);
  const left = Object.entries(tree.dependencies).filter(isLeft);
  return {
    ...manifest,
    dependencies: Object.fromEntries(Object.entries(tree.dependencies).filter((entry) => !isLeft(entry))),
    peerDependencies: { ...manifest.peerDependencies, ...Object.fromEntries(left) },
    peerDependenciesMeta: {
      ...manifest.peerDependenciesMeta,
      ...Object.fromEntries(left.map(([name]) => [name, { optional: true }])),
    },
  };
}

/** What the package of the MCP server needs; kithdb loads it, and has no part of it. */
const MCP_DEPENDENCIES = ['@modelcontextprotocol/sdk', 'zod'];

/**
 * @param {Record<string, any>} tree package.json of the source tree
 * @returns {Record<string, any>}
 */
export function mcpManifest(tree) {
  const { version, license, repository, engines } = tree;
  return {
    name: '@kithdb/mcp',
    ...{ version, license, repository },
    description: 'The MCP server of kithdb',
    keywords: ['mcp', 'kithdb', 'vector-database'],
    type: 'commonjs',
    main: './dist/index.js',
    types: './dist/index.d.ts',
    files: ['dist', 'LICENSE', 'README.md'],
    engines,
    dependencies: Object.fromEntries(MCP_DEPENDENCIES.map((name) => [name, tree.devDependencies[name]])),
  };
}
