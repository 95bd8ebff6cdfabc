/** kithdb from a registry: published, and installed by a package manager into an empty folder. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun } from '../build/process.mjs';
import { root } from '../build/tree.mjs';
import { bareEnvironment } from './installation.mjs';
import { ownPlatform } from './platforms.mjs';
import { MANAGERS } from './registry.mjs';
import { enginesIn, packAll } from './tarballs.mjs';

/**
 * Packs kithdb with the engine that was built here as its optional dependency, and publishes all in the order of a release.
 *
 * @returns {Promise<string>} the tarball of the engine
 */
export async function publishOwn(registry, folder) {
  const { kithdb, engines, optional } = await packAll({
    out: join(folder, 'tarballs'),
    engines: enginesIn(join(root, 'native'), [ownPlatform()]),
    namesEngines: true,
    stage: join(folder, 'stage'),
  });
  for (const { file } of [...engines, ...optional, kithdb]) await registry.publish(file);
  return engines[0].file;
}

/** An environment without Rust, a compiler or anything cached, in which that registry is the one. */
export function environmentOf(registry, folder, node) {
  return {
    ...bareEnvironment(folder, node),
    npm_config_userconfig: registry.npmrc,
    npm_config_registry: registry.url,
    npm_config_cache: join(folder, 'npm-cache'),
    npm_config_store_dir: join(folder, 'pnpm-store'),
  };
}

/**
 * `npm install kithdb`, as a user without Rust types it, with an empty cache of the package manager.
 *
 * @param {keyof MANAGERS} manager
 * @returns {Promise<{env: Record<string, string>, seconds: number}>} the environment for what comes next
 */
export async function installFrom(registry, manager, folder, node) {
  mkdirSync(folder, { recursive: true });
  const env = environmentOf(registry, folder, node);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true }));
  const verb = manager === 'pnpm' ? ['add'] : ['install', '--no-audit', '--no-fund'];
  const startedAt = performance.now();
  await mustRun(`install-${manager.replace(' ', '-')}`, node, [MANAGERS[manager], ...verb, 'kithdb'], {
    cwd: folder,
    env,
    bare: true,
  });
  return { env, seconds: (performance.now() - startedAt) / 1000 };
}
