/** The suite `registry`: kithdb published to a local registry, and installed from it by each package manager. */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { lockedEngine, lockNamesEngine, takeEnginePackage } from '../build/engine-package.mjs';
import { BuildError, mustRun, npm } from '../build/process.mjs';
import { root } from '../build/tree.mjs';
import { installFrom, publishOwn } from '../package/from-registry.mjs';
import { firstQueries, requireSmall } from '../package/installation.mjs';
import { addonOf, ownPlatform, packageOf } from '../package/platforms.mjs';
import { walkFirstMinutes } from './first-minutes.mjs';
import { MANAGERS, prepareRegistryTools, startRegistry } from '../package/registry.mjs';
import { startServer } from '../server-process.mjs';

/**
 * Each installation serves as `npx kithdb` does, and answers what the README asks in its first minutes. One user goes through
 * all of them, by the README's own text.
 *
 * @returns {Promise<string>} a line on each
 */
export async function checkRegistryInstall() {
  const node = await prepareRegistryTools();
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-registry-'));
  const registry = await startRegistry(node, join(folder, 'registry'));
  try {
    const engine = await publishOwn(registry, folder);
    const lines = [];
    for (const manager of Object.keys(MANAGERS)) {
      const place = join(folder, manager.replace(' ', '-'));
      mkdirSync(place);
      const { env } = await installFrom(registry, manager, place, node);
      const bytes = manager === 'pnpm' ? undefined : requireSmall(place);
      await serveFirstMinutes(manager, place, env, node);
      lines.push(`${manager}: ${bytes === undefined ? 'serves' : `serves, ${(bytes / 1e6).toFixed(1)} MB`}`);
    }
    lines.push(`the first ten minutes: ${await walkFirstMinutes(registry, join(folder, 'first'), node)}`);
    lines.push(`npm start: ${await requireLockedEngine(registry, node, folder)}`);
    lines.push(`a clone without Rust: ${await startWithoutRust(engine, folder)}`);
    return lines.join('\n');
  } finally {
    await registry.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** With the published engine in its lock file, a clone on a machine without Rust takes the one that npm has verified. */
export async function requireLockedEngine(registry, node, folder) {
  const clone = join(folder, 'clone');
  mkdirSync(clone);
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(root, name), join(clone, name));
  const platform = ownPlatform();
  if (lockNamesEngine(clone)) throw new BuildError('The lock file of this tree names an engine already.');
  const { version } = JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8'));
  const inClone = async (...args) =>
    mustRun(
      'registry-locked',
      node,
      [MANAGERS['npm 11'], ...args, '--ignore-scripts', '--no-audit', '--no-fund'],
      {
        cwd: clone,
        env: { npm_config_userconfig: registry.npmrc, npm_config_registry: registry.url },
      },
    );
  await inClone(
    'install',
    '--package-lock-only',
    '--save-optional',
    '--save-exact',
    `${packageOf(platform)}@${version}`,
  );
  if (!lockNamesEngine(clone))
    throw new BuildError('npm has written no integrity of the engine into the lock file.');
  await inClone('ci', '--omit=dev');
  await takeEnginePackage(lockedEngine(clone), join(folder, 'native'));
  const [taken, built] = [join(folder, 'native'), join(root, 'native')].map((place) =>
    readFileSync(join(place, addonOf(platform))),
  );
  if (!taken.equals(built))
    throw new BuildError('The engine of the lock file is another than the published one.');
  return 'takes the engine of the lock file';
}

/** A clone on a machine without Rust builds all but the engine, which a package brings, and `npm start` serves (README). */
async function startWithoutRust(engine, folder) {
  const clone = join(folder, 'without-rust');
  mkdirSync(clone);
  await mustRun('registry-clone', 'sh', ['-c', `git -C '${root}' archive HEAD | tar -x -C '${clone}'`]);
  const places = (process.env.PATH ?? '').split(delimiter);
  const env = {
    PATH: places.filter((place) => !existsSync(join(place, 'cargo'))).join(delimiter),
    // Rust is looked for in the home folder too.
    HOME: join(folder, 'home'),
    KITHDB_ENGINE_PACKAGE: engine,
  };
  const [command, leading] = npm();
  await mustRun('registry-without-rust', command, [...leading, 'run', 'build'], { cwd: clone, env });
  const data = join(folder, 'data-without-rust');
  const flags = ['start', '--', '--port', '0', '--data-dir', data];
  const [launcher, node] = leading.length > 0 ? [leading[0], [command]] : [command, []];
  const server = await startServer(launcher, flags, env, [], node, clone);
  try {
    await firstQueries(server.url);
  } finally {
    process.kill(Number(readFileSync(join(data, 'lock'), 'utf8')), 'SIGTERM');
    await server.stop();
  }
  return 'npm start serves with KITHDB_ENGINE_PACKAGE';
}

/** What a manager starts the command of an installed package with. */
const RUNNERS = {
  'npm 11': ['exec', '--no', '--', 'kithdb'],
  'npm 12': ['exec', '--no', '--', 'kithdb'],
  pnpm: ['exec', 'kithdb'],
};

async function serveFirstMinutes(manager, place, env, node) {
  const server = await startServer(
    MANAGERS[manager],
    [...RUNNERS[manager], '--port', '0', '--data-dir', join(place, 'data')],
    env,
    [],
    [node],
    place,
  );
  try {
    await firstQueries(server.url);
    const example = join(root, 'scripts', 'example.mjs');
    await mustRun('registry-example', process.execPath, [example, '--url', server.url]);
  } finally {
    // The shell that a package manager starts a command in passes no signal on, so the server gets its own. Its lock
    // says which process it is.
    process.kill(Number(readFileSync(join(place, 'data', 'lock'), 'utf8')), 'SIGTERM');
    await server.stop();
  }
}
