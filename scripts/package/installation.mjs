/** An installation of packed kithdb in a folder of its own: how large it is, and whether it serves. */
import { chmodSync, copyFileSync, cpSync, lstatSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { BuildError } from '../build/process.mjs';
import { root } from '../build/tree.mjs';
import { startServer } from '../server-process.mjs';

/** What an installation may have on the disk, sqlite3 not counted: later packages must not make it more. */
export const MAX_INSTALLED_BYTES = 30 * 1000 * 1000;

/** An environment in which neither Rust nor a compiler nor settings of the machine's npm are to be found. */
export function bareEnvironment(folder, node = process.execPath) {
  // Windows makes links for administrators only.
  if (process.platform === 'win32') return { ...process.env };
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  for (const [name, path] of [
    ['node', node],
    ...['sh', 'env', 'tar', 'uname', 'dirname', 'basename', 'sed', 'npm'].map((name) => [name, onPath(name)]),
  ]) {
    if (path !== undefined) symlinkSync(path, join(bin, name));
  }
  const kept = [
    'LANG',
    'TMPDIR',
    'SSL_CERT_FILE',
    'NODE_EXTRA_CA_CERTS',
    'HTTPS_PROXY',
    'https_proxy',
    'NO_PROXY',
  ];
  const own = Object.fromEntries(
    kept.filter((name) => name in process.env).map((name) => [name, process.env[name]]),
  );
  return {
    ...own,
    PATH: bin,
    HOME: folder,
    npm_config_cache: npmCache(),
    npm_config_userconfig: userConfig(),
  };
}

function onPath(name) {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined);
}

/** npm's cache and registry are those of the machine. */
function npmCache() {
  return process.env.npm_config_cache ?? join(process.env.HOME ?? '', '.npm');
}

function userConfig() {
  return process.env.npm_config_userconfig ?? join(process.env.HOME ?? '', '.npmrc');
}

/** Bytes of the files of a folder, those of sqlite3 not counted. */
export function installedBytes(folder) {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name === 'sqlite3') continue;
    const path = join(folder, entry.name);
    bytes += entry.isDirectory() ? installedBytes(path) : lstatSync(path).size;
  }
  return bytes;
}

/** @throws {BuildError} when an installation is larger than later issues may make it */
export function requireSmall(folder) {
  const bytes = installedBytes(join(folder, 'node_modules'));
  if (bytes > MAX_INSTALLED_BYTES)
    throw new BuildError(`The installation has ${bytes} bytes, limit ${MAX_INSTALLED_BYTES}.`);
  return bytes;
}

/** Puts the compiled sqlite3 of this tree into an installation, as its user would for a Node without `node:sqlite`. */
export function addSqlite3(folder) {
  for (const name of ['sqlite3', 'bindings', 'file-uri-to-path']) {
    const target = join(folder, 'node_modules', name);
    cpSync(join(root, 'node_modules', name, 'package.json'), join(target, 'package.json'), {
      recursive: true,
    });
  }
  const from = (...path) => join(root, 'node_modules', ...path);
  const to = (...path) => join(folder, 'node_modules', ...path);
  cpSync(from('sqlite3', 'lib'), to('sqlite3', 'lib'), { recursive: true });
  const addon = ['sqlite3', 'build', 'Release', 'node_sqlite3.node'];
  mkdirSync(dirname(to(...addon)), { recursive: true });
  copyFileSync(from(...addon), to(...addon));
  chmodSync(to(...addon), 0o755);
  copyFileSync(from('bindings', 'bindings.js'), to('bindings', 'bindings.js'));
  copyFileSync(from('file-uri-to-path', 'index.js'), to('file-uri-to-path', 'index.js'));
}

/**
 * Starts an installed server, runs the first requests of the README on it, and stops it gracefully.
 *
 * @param {string} folder with node_modules/kithdb
 * @param {{node?: string[], env?: Record<string, string>}} [how] the Node that runs it
 * @returns {Promise<{readyAfterMs: number, pid: number}>}
 */
export async function serveOnce(folder, { node, env } = {}) {
  const launcher = join(folder, 'node_modules', 'kithdb', 'bin', 'kithdb.js');
  const server = await startServer(
    launcher,
    ['--port', '0', '--data-dir', join(folder, `data-${process.hrtime.bigint()}`)],
    env,
    [],
    node,
  );
  try {
    await firstQueries(server.url);
  } catch (error) {
    await server.kill();
    throw error;
  }
  const code = await server.stop();
  if (code !== 0) throw new BuildError(`The installed server stopped with exit code ${code}.`);
  return server;
}

/** The collection of their own with which the README's first minutes end; `token` where authentication is enabled. */
export async function firstQueries(url, token) {
  const call = async (method, path, body) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new BuildError(`${method} ${path} failed: ${text}`);
    return JSON.parse(text).result;
  };
  await call('PUT', '/collections/notes', { vectors: { size: 4, distance: 'Cosine' } });
  await call('PUT', '/collections/notes/points', {
    points: [
      { id: 1, vector: [0.1, 0.9, 0.2, 0.0], payload: { text: 'buy milk' } },
      { id: 2, vector: [0.8, 0.1, 0.0, 0.3], payload: { text: 'call Ada' } },
    ],
  });
  const body = { vector: [0.2, 1, 0.1, 0], limit: 1, with_payload: true };
  const hits = await call('POST', '/collections/notes/points/search', body);
  if (hits[0]?.payload?.text !== 'buy milk')
    throw new BuildError(`The installed server found ${JSON.stringify(hits)}.`);
}
