/**
 * `npm run try:package -- --tarballs DIR`: installs kithdb and the engine of this platform from the tarballs of
 * `npm run pack` into an empty folder, and serves once. Needs Node 22.13 and nothing else of this tree: for old images.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { BuildError, mustRun, npm, say } from './build/process.mjs';
import { bareEnvironment, requireSmall, serveOnce } from './package/installation.mjs';
import { ownPlatform } from './package/platforms.mjs';

try {
  await tryPackage(readFolder());
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  say(error.message);
  process.exitCode = 1;
}

async function tryPackage(tarballs) {
  const platform = ownPlatform();
  const files = readdirSync(tarballs);
  const chosen = [/^kithdb-\d.*\.tgz$/, new RegExp(`^kithdb-engine-${platform?.name}-\\d.*\\.tgz$`)].map(
    (wanted) => {
      const file = files.find((name) => wanted.test(name));
      if (file === undefined) throw new BuildError(`${tarballs} has no ${wanted}.`);
      return join(tarballs, file);
    },
  );
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-try-'));
  try {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true }));
    const [command, leading] = npm();
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...chosen];
    const how = { cwd: folder, env: bareEnvironment(folder), bare: true };
    await mustRun('try-install', command, [...leading, ...args], how);
    const bytes = requireSmall(folder);
    const { readyAfterMs } = await serveOnce(folder);
    const size = `${(bytes / 1e6).toFixed(1)} MB installed`;
    console.log(
      `${platform.name} on ${process.version}: ${size}, ready after ${Math.round(readyAfterMs)} ms`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readFolder() {
  const { values } = parseArgs({ options: { tarballs: { type: 'string' } } });
  if (values.tarballs === undefined) throw new BuildError('npm run try:package -- --tarballs DIR');
  return resolve(process.env.INIT_CWD ?? '.', values.tarballs);
}
