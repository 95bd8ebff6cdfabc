/** A Python environment with the client library and the tools that the tests drive, in `.build/venv`, and earlier releases. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError, mustRun, output } from './process.mjs';
import { fingerprint, isCurrent, remember, root } from './tree.mjs';

/** The environment's interpreter, once {@link preparePython} has made it. */
export const python = join(root, '.build', 'venv', 'bin', 'python');

/** Pinned versions: what the tests of the Python client import, and the tool that tries the API's description. */
const requirements = [
  join('test', 'clients', 'requirements.txt'),
  join('test', 'openapi', 'requirements.txt'),
];

/** One earlier release of the client a line, pinned. */
const releases = join('test', 'clients', 'releases.txt');

/** Folders of the earlier releases, by version: each is a path to import from, before the environment's own. */
export const releasesDir = join(root, '.build', 'qdrant-client');

/**
 * Creates the environment, or brings it up to date. Without Python, or without its module venv, the tests that need it skip
 * themselves. In CI that is a failure, because it would go unnoticed.
 *
 * @returns {Promise<string | undefined>} a note when there is none
 */
export async function preparePython() {
  const version = await output('python3', ['--version']);
  if (version === null) {
    if (process.env.CI) throw new BuildError('CI needs python3, for the tests of the Python client.');
    return 'skipped: no python3 here, so the tests of the Python client will be skipped';
  }
  const venv = join(root, '.build', 'venv');
  const digest = fingerprint([...requirements, releases], undefined, [version]);
  if (existsSync(python) && isCurrent('venv', digest)) return undefined;
  for (const folder of [venv, releasesDir]) rmSync(folder, { recursive: true, force: true });
  try {
    await mustRun('venv', 'python3', ['-m', 'venv', venv]);
    await install(
      'pip',
      requirements.flatMap((file) => ['-r', file]),
    );
    await installReleases();
  } catch (error) {
    if (process.env.CI) throw error;
    for (const folder of [venv, releasesDir]) rmSync(folder, { recursive: true, force: true });
    return 'skipped: no environment for the Python client could be made (Debian: apt install python3-venv)';
  }
  remember('venv', digest);
  return undefined;
}

/** Earlier releases of the client, each in a folder of its own; what they need is in the environment. */
async function installReleases() {
  const pinned = readFileSync(join(root, releases), 'utf8').trim().split('\n');
  await Promise.all(
    pinned.map((requirement) => {
      const version = requirement.split('==')[1];
      const target = join(releasesDir, version);
      return install(`pip-${version}`, ['--no-deps', '--target', target, requirement]);
    }),
  );
}

async function install(name, args) {
  await mustRun(name, python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...args]);
}
