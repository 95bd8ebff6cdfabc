/**
 * The suite `platforms`: the engines of all Linux platforms, built against glibc 2.17 and musl, checked by their symbol
 * tables, installed with what their platform needs, and searched: under musl's loader, and in an emulator of arm64.
 * Those of macOS and Windows are compiled, not linked.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BuildError, mustRun, npm } from '../build/process.mjs';
import { hasNodeSqlite } from '../build/sqlite3.mjs';
import { root } from '../build/tree.mjs';
import { buildCross, checkCompiles, crossPlatforms, foreignPlatforms } from '../package/cross.mjs';
import { addSqlite3, requireSmall, serveOnce } from '../package/installation.mjs';
import { ownPlatform } from '../package/platforms.mjs';
import { prepareNode } from '../package/sysroot.mjs';
import { packAll } from '../package/tarballs.mjs';

/** @returns {Promise<string>} a line on each platform */
export async function checkPlatforms() {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new BuildError('The suite platforms runs on Linux x64: its emulators and loaders are for that.');
  const lines = [];
  for (const platform of crossPlatforms) {
    const addon = await buildCross(platform, join(root, '.build', 'engines'));
    lines.push(`${platform.name}: ${await serveOn(platform, addon)}`);
  }
  for (const platform of foreignPlatforms) {
    await checkCompiles(platform);
    lines.push(`${platform.name}: compiles`);
  }
  return lines.join('\n');
}

export async function serveOn(platform, addon) {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-platform-'));
  try {
    const packed = { out: join(folder, 'tarballs'), stage: join(folder, 'stage'), namesEngines: false };
    const { kithdb, engines } = await packAll({ ...packed, engines: [{ platform, addon }] });
    const place = join(folder, 'installed');
    await installFor(platform, place, [kithdb.file, engines[0].file]);
    const bytes = requireSmall(place);
    const { readyAfterMs } = await serveOnce(place, { node: await nodeFor(platform, place) });
    return `serves after ${Math.round(readyAfterMs)} ms, ${(bytes / 1e6).toFixed(1)} MB`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As npm would on that platform; forced, because a package that is asked for by name must fit the machine otherwise. */
async function installFor({ system, cpu, libc }, folder, tarballs) {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true }));
  const [command, leading] = npm();
  const platform = [`--os=${system}`, `--cpu=${cpu}`, `--libc=${libc === 'gnu' ? 'glibc' : libc}`];
  const quiet = ['--force', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  await mustRun('platform-install', command, [...leading, 'install', ...platform, ...quiet, ...tarballs], {
    cwd: folder,
  });
}

/** The command of a Node for the platform; this one, where it is that platform's. */
async function nodeFor(platform, folder) {
  if (ownPlatform()?.name !== platform.name) return prepareNode(platform.name);
  if (!hasNodeSqlite()) addSqlite3(folder);
  return [process.execPath];
}
