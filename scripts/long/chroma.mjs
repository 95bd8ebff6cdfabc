/** The suite `chroma`: a migration from a Chroma server of the Python package index. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun, output } from '../build/process.mjs';
import { fingerprint, isCurrent, remember, root } from '../build/tree.mjs';

const venv = join(root, '.build', 'chroma-venv');
const requirements = join('test', 'migration', 'requirements.txt');

/**
 * Installs Chroma once.
 *
 * @returns {Promise<string>} the path of its command
 */
async function prepareChroma() {
  const chroma = join(venv, 'bin', 'chroma');
  const digest = fingerprint([requirements], undefined, [await output('python3', ['--version'])]);
  if (existsSync(chroma) && isCurrent('chroma-venv', digest)) return chroma;
  rmSync(venv, { recursive: true, force: true });
  await mustRun('chroma-venv', 'python3', ['-m', 'venv', venv]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements];
  await mustRun('chroma-pip', join(venv, 'bin', 'python'), pip);
  remember('chroma-venv', digest);
  return chroma;
}

/** @returns {Promise<string>} a line on what was tried */
export async function checkChromaMigration() {
  const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const env = { CHROMA_COMMAND: await prepareChroma() };
  await mustRun('chroma-migration', process.execPath, [jest, 'test/migration/chroma-server'], { env });
  return 'all records of a real server arrive';
}
