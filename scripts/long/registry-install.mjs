/** The suite `registry`: kithdb published to a local registry, and installed from it by each package manager. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mustRun } from '../build/process.mjs';
import { root } from '../build/tree.mjs';
import { installFrom, publishOwn } from '../package/from-registry.mjs';
import { firstQueries, requireSmall } from '../package/installation.mjs';
import { MANAGERS, prepareRegistryTools, startRegistry } from '../package/registry.mjs';
import { startServer } from '../server-process.mjs';

/**
 * Each installation serves as `npx kithdb` does, and answers what the README asks in its first minutes.
 *
 * @returns {Promise<string>} a line on each
 */
export async function checkRegistryInstall() {
  const node = await prepareRegistryTools();
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-registry-'));
  const registry = await startRegistry(node, join(folder, 'registry'));
  try {
    await publishOwn(registry, folder);
    const lines = [];
    for (const manager of Object.keys(MANAGERS)) {
      const place = join(folder, manager.replace(' ', '-'));
      mkdirSync(place);
      const { env } = await installFrom(registry, manager, place, node);
      const bytes = manager === 'pnpm' ? undefined : requireSmall(place);
      await serveFirstMinutes(manager, place, env, node);
      lines.push(`${manager}: ${bytes === undefined ? 'serves' : `serves, ${(bytes / 1e6).toFixed(1)} MB`}`);
    }
    return lines.join('\n');
  } finally {
    await registry.stop();
    rmSync(folder, { recursive: true, force: true });
  }
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
