/** A Python environment with the client library and the tools that the tests drive, in `.build/venv`. */
import { existsSync, rmSync } from 'node:fs';
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
  const digest = fingerprint(requirements, undefined, [version]);
  if (existsSync(python) && isCurrent('venv', digest)) return undefined;
  rmSync(venv, { recursive: true, force: true });
  try {
    await mustRun('venv', 'python3', ['-m', 'venv', venv]);
    await mustRun('pip', python, [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      ...requirements.flatMap((file) => ['-r', file]),
    ]);
  } catch (error) {
    if (process.env.CI) throw error;
    rmSync(venv, { recursive: true, force: true });
    return 'skipped: no environment for the Python client could be made (Debian: apt install python3-venv)';
  }
  remember('venv', digest);
  return undefined;
}
