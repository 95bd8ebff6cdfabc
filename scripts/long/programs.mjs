/** The suite `programs`: what people run with Qdrant, each with its own integration and unchanged, against a KithDB server. */
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError, mustRun, npm, output } from '../build/process.mjs';
import { fingerprint, isCurrent, remember, root } from '../build/tree.mjs';

/** A folder each, with what it has installed: `requirements.txt`, or `package.json` with its lock. */
const described = join('test', 'programs', 'environments');

/** Where they are made. The test knows this folder too. */
export const environmentsDir = join(root, '.build', 'programs');

/** Makes every environment, or brings it up to date, one after the other: each downloads some hundred megabytes. */
async function prepareEnvironments() {
  const version = await output('python3', ['--version']);
  if (version === null) throw new BuildError('programs: most of them need python3.');
  for (const name of readdirSync(join(root, described))) {
    const source = join(described, name);
    const digest = fingerprint([source], undefined, [version, process.version]);
    const target = join(environmentsDir, name);
    if (existsSync(target) && isCurrent(`program-${name}`, digest)) continue;
    rmSync(target, { recursive: true, force: true });
    const isPython = existsSync(join(root, source, 'requirements.txt'));
    await (isPython ? makePython(name, source, target) : makeNode(name, source, target));
    remember(`program-${name}`, digest);
  }
}

/** Every package is pinned, those that a program brings along too; `--no-deps` keeps it at that. */
async function makePython(name, source, target) {
  await mustRun(`venv-${name}`, 'python3', ['-m', 'venv', target]);
  const quiet = ['--quiet', '--disable-pip-version-check'];
  const requirements = join(root, source, 'requirements.txt');
  await mustRun(`pip-${name}`, join(target, 'bin', 'python'), [
    ...['-m', 'pip', 'install', '--no-deps', ...quiet],
    ...['-r', requirements],
  ]);
}

/** Install scripts are not run: nothing that the integrations call is compiled. */
async function makeNode(name, source, target) {
  mkdirSync(target, { recursive: true });
  cpSync(join(root, source), target, { recursive: true });
  const [command, leading] = npm();
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--legacy-peer-deps'];
  await mustRun(`npm-${name}`, command, [...leading, 'ci', ...flags], { cwd: target });
  const { unpacked = [] } = JSON.parse(readFileSync(join(target, 'package.json'), 'utf8'));
  for (const { name: packed, integrity } of unpacked) await unpack(target, packed, integrity);
}

/**
 * A package without what it depends on: the environment has what its Qdrant node calls, and the rest, a gigabyte, are
 * stand-ins (`test/programs/stand-ins.cjs`).
 */
async function unpack(target, packed, integrity) {
  const [command, leading] = npm();
  const answer = await output(command, [...leading, 'pack', packed, '--json', '--ignore-scripts'], {
    cwd: target,
  });
  const [made] = JSON.parse(answer ?? '[]');
  if (made?.integrity !== integrity)
    throw new BuildError(`${packed}: ${made?.integrity} instead of ${integrity}`);
  const folder = join(target, 'node_modules', packed.slice(0, packed.lastIndexOf('@')));
  mkdirSync(folder, { recursive: true });
  await mustRun('unpack', 'tar', ['xzf', join(target, made.filename), '--strip-components=1', '-C', folder]);
  rmSync(join(target, made.filename));
}

/** @returns {Promise<string>} a line on what was tried */
export async function runPrograms() {
  await prepareEnvironments();
  const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  await mustRun('programs', process.execPath, [jest, 'test/programs'], { env: { TESTED_PROGRAMS: 'all' } });
  return 'every call of every program';
}
