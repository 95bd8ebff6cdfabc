/** The libraries to compare with, in a Python environment of their own under `.build`. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError, announce, mustRun, output, say } from '../../scripts/build/process.mjs';
import { fingerprint, isCurrent, remember, root } from '../../scripts/build/tree.mjs';
import { Worker } from './worker.mjs';

/**
 * Package and version of each peer. Versions are pinned so that figures of different days compare; hnswlib comes as a
 * source and is compiled for this CPU, which is how it is fastest.
 */
const PEERS = {
  hnswlib: { requirement: 'hnswlib==0.8.0', fromSource: true },
  faiss: { requirement: 'faiss-cpu==1.15.1' },
  usearch: { requirement: 'usearch==2.26.6' },
  // Zilliz's own package has no wheel for present Pythons; this one is the same library built for AVX2.
  glass: { requirement: 'pyglass-portable==2.1.0', optional: true },
  // The strongest for which there are wheels. SymphonyQG is in the library of RaBitQ.
  symphonyqg: { requirement: 'rabitqlib==0.7.1', optional: true },
  svs: { requirement: 'scalable-vs==0.5.0', optional: true },
  scann: { requirement: 'scann==1.4.2', optional: true },
  vsag: { requirement: 'pyvsag==0.18.5', optional: true },
};

const NUMPY = 'numpy==2.4.6';

const FOR_THIS_CPU = { CFLAGS: '-march=native', CXXFLAGS: '-march=native' };

/** Names of all peers. */
export const PEER_NAMES = Object.keys(PEERS);

/**
 * Installs the peers and starts a process for each.
 *
 * @param {string[]} names
 * @returns {Promise<Worker[]>} without the optional ones that cannot be installed
 */
export async function startPeers(names) {
  if (names.length === 0) return [];
  const python = await environment();
  const workers = [];
  for (const name of names) {
    if (!(await install(python, name))) continue;
    const script = join(root, 'bench', 'index', 'peer.py');
    workers.push(new Worker(name, python, [script, name], { PYTHONUNBUFFERED: '1' }));
  }
  return workers;
}

async function environment() {
  const version = await output('python3', ['--version']);
  if (version === null) throw new BuildError('The peers need python3; run with --peers none to do without.');
  const folder = join(root, '.build', 'bench-venv');
  const python = join(folder, 'bin', 'python');
  const digest = fingerprint([], undefined, [version, NUMPY]);
  if (existsSync(python) && isCurrent('bench-venv', digest)) return python;
  rmSync(folder, { recursive: true, force: true });
  await announce('python environment for the peers', async () => {
    await mustRun('bench-venv', 'python3', ['-m', 'venv', folder]);
    await pip(python, 'numpy', [NUMPY]);
  });
  for (const name of PEER_NAMES) remember(`bench-${name}`, '');
  remember('bench-venv', digest);
  return python;
}

async function install(python, name) {
  const { requirement, fromSource, optional } = PEERS[name];
  const stamp = `bench-${name}`;
  if (isCurrent(stamp, requirement)) return true;
  try {
    await announce(`${requirement}, from PyPI`, () =>
      fromSource
        ? // No cache: a wheel in it may have been compiled for another CPU.
          pip(python, name, ['--no-binary', name, '--no-cache-dir', requirement], FOR_THIS_CPU)
        : pip(python, name, [requirement]),
    );
  } catch (error) {
    if (!optional) throw error;
    say(`${name} is left out: ${requirement} cannot be installed here.`);
    return false;
  }
  remember(stamp, requirement);
  return true;
}

function pip(python, name, args, env = {}) {
  return mustRun(
    `bench-pip-${name}`,
    python,
    ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...args],
    { env },
  );
}
