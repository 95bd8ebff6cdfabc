/** Copies of a commit in which mutants are tested, and the tools that make mutants. Nothing of it is in the product. */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError, mustRun, npm, output } from '../build/process.mjs';
import { root } from '../build/tree.mjs';

/** Everything that mutants need; deleting it is always safe. */
export const folder = join(root, '.build', 'mutants');

/** Versions are pinned: another one makes other mutants, and a sample is drawn from all. */
export const CARGO_MUTANTS = '27.1.0';
export const STRYKER = '9.6.1';

/** The program `cargo-mutants`, compiled once. */
export async function cargoMutants() {
  const tools = join(folder, `cargo-mutants-${CARGO_MUTANTS}`);
  const program = join(tools, 'bin', process.platform === 'win32' ? 'cargo-mutants.exe' : 'cargo-mutants');
  if (!existsSync(program)) {
    const args = ['install', '--locked', '--root', tools, '--version', CARGO_MUTANTS, 'cargo-mutants'];
    await mustRun('cargo-mutants', 'cargo', args);
  }
  return program;
}

/** The module that makes Stryker's mutants, installed once. */
export async function strykerInstrumenter() {
  const tools = join(folder, `stryker-${STRYKER}`);
  const name = '@stryker-mutator/instrumenter';
  if (!existsSync(join(tools, 'node_modules', name))) {
    mkdirSync(tools, { recursive: true });
    writeFileSync(join(tools, 'package.json'), '{"private":true}\n');
    const [command, args] = npm();
    await mustRun('stryker', command, [...args, 'install', '--ignore-scripts', `${name}@${STRYKER}`], {
      cwd: tools,
    });
  }
  return join(tools, 'node_modules', name, 'dist', 'src', 'index.js');
}

/** The full name of a commit. */
export async function commitOf(revision) {
  const commit = await output('git', ['rev-parse', '--verify', '--quiet', `${revision}^{commit}`]);
  if (commit === null) throw new BuildError(`git knows no commit ${revision}.`);
  return commit;
}

/** What lies between a revision and a commit, for {@link import('./sample.mjs').changedIn}. */
export async function diffOf(revision, commit) {
  const diff = await output('git', ['diff', '--unified=0', await commitOf(revision), commit]);
  if (diff === null) throw new BuildError(`git has no difference between ${revision} and ${commit}.`);
  return diff;
}

/** The text of a file of a commit, empty where it has none. */
export async function fileOf(commit, file) {
  return (await output('git', ['show', `${commit}:${file}`])) ?? '';
}

/**
 * A copy of a commit, made once, without its history.
 *
 * @returns {Promise<{path: string, isNew: boolean}>}
 */
export async function copyOf(commit, language) {
  const path = join(folder, language);
  const stamp = join(folder, `${language}.commit`);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === commit) return { path, isNew: false };
  rmSync(stamp, { force: true });
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true });
  const archive = join(folder, `${language}.tar`);
  await mustRun('mutants-copy', 'git', ['archive', '--output', archive, commit]);
  await mustRun('mutants-copy', 'tar', ['-xf', archive, '-C', path]);
  rmSync(archive);
  if (language === 'typescript') {
    for (const name of ['node_modules', 'native']) symlinkSync(join(root, name), join(path, name));
  }
  return { path, isNew: true, finished: () => writeFileSync(stamp, commit) };
}
