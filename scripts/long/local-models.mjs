/**
 * The suite `local-models`: models of folders, with the libraries of the package @kithdb/models, which are too large for the
 * tree; and that package itself, packed and installed beside kithdb.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BuildError, mustRun, npm } from '../build/process.mjs';
import { isCurrent, remember, root, fingerprint } from '../build/tree.mjs';
import { OPTIONAL_PACKAGES, optionalManifest } from '../package/manifest.mjs';
import { ownPlatform } from '../package/platforms.mjs';
import { enginesIn, packAll } from '../package/tarballs.mjs';

/** The test knows this folder too. */
const libraries = join(root, '.build', 'local-models');
const QUIET = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];

/** @returns {Promise<string>} a line on what was tried */
export async function runLocalModels() {
  await prepareLibraries();
  const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  await mustRun('local-models', process.execPath, [jest, 'test/models']);
  await requireInstalled();
  return 'a server and a program with models of folders; the installed package';
}

async function prepareLibraries() {
  const tree = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { dependencies } = optionalManifest(
    OPTIONAL_PACKAGES.find(({ name }) => name === '@kithdb/models'),
    tree,
  );
  const digest = fingerprint([], undefined, [JSON.stringify(dependencies)]);
  if (existsSync(join(libraries, 'node_modules')) && isCurrent('local-models', digest)) return;
  rmSync(libraries, { recursive: true, force: true });
  mkdirSync(libraries, { recursive: true });
  writeFileSync(join(libraries, 'package.json'), JSON.stringify({ private: true, dependencies }));
  const [command, leading] = npm();
  await mustRun('local-models-libraries', command, [...leading, 'install', ...QUIET], { cwd: libraries });
  remember('local-models', digest);
}

/** The package finds its libraries and its thread where npm puts them: a folder that is none is refused by that thread. */
async function requireInstalled() {
  const platform = ownPlatform();
  if (platform === undefined) return;
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-local-models-'));
  try {
    const { kithdb, engines, optional } = await packAll({
      out: join(folder, 'tarballs'),
      engines: enginesIn(join(root, 'native'), [platform]),
      namesEngines: false,
      stage: join(folder, 'stage'),
    });
    const models = optional.find(({ name }) => name === '@kithdb/models');
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true }));
    const [command, leading] = npm();
    const tarballs = [kithdb, ...engines, models].map(({ file }) => file);
    await mustRun('local-models-install', command, [...leading, 'install', ...QUIET, ...tarballs], {
      cwd: folder,
    });
    const program = `require('kithdb').open('data', { models: [{ name: 'none', path: '.' }] }).catch(({ message }) => console.log(message))`;
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], {
      cwd: folder,
      encoding: 'utf8',
    });
    if (!stdout.includes('has no model: expected onnx/model.onnx'))
      throw new BuildError(`The installed package said: ${stdout}${stderr}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
