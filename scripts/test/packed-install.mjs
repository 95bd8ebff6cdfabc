/** What a user gets from npm: the packed tarball, installed into an empty folder, must serve without Rust. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BuildError, mustRun, npm } from '../build/process.mjs';
import { root } from '../build/tree.mjs';
import { startServer } from '../server-process.mjs';

/** A larger package holds something that does not belong to it, such as a data set or a debug build. */
const MAX_PACKED_BYTES = 20 * 1024 * 1024;

/** @returns {Promise<string>} the size of the tarball, for the step's line */
export async function checkPackedInstall() {
  const [command, leading] = npm();
  const packDir = join(root, '.build', 'pack');
  rmSync(packDir, { recursive: true, force: true });
  mkdirSync(packDir, { recursive: true });
  await mustRun('pack', command, [...leading, 'pack', '--pack-destination', packDir]);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const tarball = join(packDir, `kithdb-${version}.tgz`);
  const bytes = readFileSync(tarball).length;
  if (bytes > MAX_PACKED_BYTES)
    throw new BuildError(`The package has ${bytes} bytes, limit ${MAX_PACKED_BYTES}.`);

  const folder = mkdtempSync(join(tmpdir(), 'kithdb-packed-'));
  try {
    writeFileSync(
      join(folder, 'package.json'),
      JSON.stringify({ private: true, allowScripts: { sqlite3: true } }),
    );
    await mustRun('packed-install', command, [...leading, 'install', '--no-audit', '--no-fund', tarball], {
      cwd: folder,
    });
    requireNoTestSwitches(join(folder, 'node_modules', 'kithdb', 'native'));
    await serveOnce(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return `${(bytes / 1024 / 1024).toFixed(1)} MB packed`;
}

/** The addon that tests load is built beside the product and must not be packed. */
function requireNoTestSwitches(native) {
  const extra = readdirSync(native).filter((name) => !name.endsWith('.node'));
  if (extra.length > 0) throw new BuildError(`The package has native/${extra.join(', ')}.`);
}

/** Starts the installed server, creates a collection over HTTP, and stops it gracefully. */
async function serveOnce(folder) {
  const launcher = join(folder, 'node_modules', 'kithdb', 'bin', 'kithdb.js');
  const server = await startServer(launcher, ['--port', '0', '--data-dir', join(folder, 'data')]);
  const created = await fetch(`${server.url}/collections/packed`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ vectors: { size: 4, distance: 'Cosine' } }),
  });
  const answer = await created.text();
  const code = await server.stop();
  if (!created.ok) throw new BuildError(`Creating a collection failed: ${answer}`);
  if (code !== 0) throw new BuildError(`The installed server stopped with exit code ${code}.`);
}
