/**
 * Engines for every Linux, built on any Linux: zig links them, against glibc 2.17 or musl. Those of macOS and Windows are
 * compiled as far as that needs no linker.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { announce, BuildError, mustRun, output } from '../build/process.mjs';
import { fingerprint, isCurrent, remember, root } from '../build/tree.mjs';
import { glibcOf, needsOf } from './elf.mjs';
import { addonOf, GLIBC_FLOOR, LARGEST_PAGE_BYTES, platforms } from './platforms.mjs';

const requirements = join('scripts', 'package', 'requirements.txt');
const venv = join(root, '.build', 'cross');

/** The platforms that {@link buildCross} can build. */
export const crossPlatforms = platforms.filter(({ system }) => system === 'linux');

/** The platforms that are compiled by {@link checkCompiles} alone: their linkers and systems are not here. */
export const foreignPlatforms = platforms.filter(({ system }) => system !== 'linux');

/**
 * Compiles the addon of a platform, as far as no linker is needed, with and without the test switches.
 *
 * @param {import('./platforms.mjs').Platform} platform
 */
export async function checkCompiles({ name, triple }) {
  await prepareStandardLibrary(triple);
  const target = ['--target', triple, '--target-dir', join(root, '.build', 'checked')];
  for (const features of [[], ['--features', 'testing']])
    await announce(`Compiling for ${name}${features.length > 0 ? ', with test switches' : ''}`, () =>
      mustRun(`check-${name}`, 'cargo', ['check', '-p', 'kithdb-node', '--locked', ...target, ...features], {
        env: { RUSTFLAGS: '-D warnings' },
      }),
    );
}

/**
 * Builds the engine of a platform into a folder, and checks what it needs of a system.
 *
 * @param {import('./platforms.mjs').Platform} platform
 * @param {string} folder
 * @returns {Promise<string>} path of the addon
 */
export async function buildCross(platform, folder) {
  await prepareToolchain();
  await prepareStandardLibrary(platform.triple);
  const addon = join(folder, addonOf(platform));
  mkdirSync(folder, { recursive: true });
  await announce(`Building the engine for ${platform.name}`, () =>
    mustRun(
      `cross-${platform.name}`,
      process.execPath,
      [
        join(root, 'node_modules', '@napi-rs', 'cli', 'dist', 'cli.js'),
        ...['build', '--platform', '--release', '--cross-compile', '--no-js', '--no-dts-header'],
        ...['--target', targetOf(platform), '--manifest-path', 'crates/node/Cargo.toml'],
        ...[
          '--output-dir',
          folder,
          '--dts',
          relative(folder, join(root, '.build', `binding.${platform.name}.d.ts`)),
        ],
        ...['--', '--locked'],
      ],
      // No flags of this machine, such as target-cpu=native: the engine runs on others.
      { env: { PATH: `${join(venv, 'bin')}${delimiter}${process.env.PATH}`, RUSTFLAGS: '' } },
    ),
  );
  requireFloor(platform, addon);
  return addon;
}

/** zig links against the glibc that is named behind the target. */
function targetOf({ triple, libc }) {
  return libc === 'gnu' ? `${triple}.${GLIBC_FLOOR.join('.')}` : triple;
}

/** @throws {BuildError} where an addon needs a newer or another system than its package promises */
export function requireFloor(platform, addon) {
  const needs = needsOf(addon);
  const fail = (why) => {
    throw new BuildError(`${addonOf(platform)} ${why}: ${JSON.stringify(needs)}`);
  };
  if (needs.machine !== platform.cpu) fail(`is for ${needs.machine}`);
  if (needs.alignment < LARGEST_PAGE_BYTES[platform.cpu]) fail('cannot be mapped where pages are large');
  const [major, minor] = glibcOf(needs) ?? [0, 0];
  if (platform.libc === 'musl' && major > 0) fail('needs glibc');
  if (major > GLIBC_FLOOR[0] || (major === GLIBC_FLOOR[0] && minor > GLIBC_FLOOR[1]))
    fail(`needs a newer glibc than ${GLIBC_FLOOR.join('.')}`);
}

/** Zig and cargo-zigbuild, in a Python environment of their own. */
async function prepareToolchain() {
  const version = await output('python3', ['--version']);
  if (version === null)
    throw new BuildError('The cross toolchain is installed by pip, and there is no python3.');
  const digest = fingerprint([requirements], undefined, [version]);
  if (existsSync(venv) && isCurrent('cross', digest)) return;
  rmSync(venv, { recursive: true, force: true });
  await announce('Installing the cross toolchain', async () => {
    await mustRun('cross-venv', 'python3', ['-m', 'venv', venv]);
    await mustRun('cross-pip', join(venv, 'bin', 'python'), [
      ...['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary', ':all:'],
      ...['--no-deps', '--require-hashes', '-r', requirements],
    ]);
  });
  remember('cross', digest);
}

/** Rust's standard library for a target: rustup has it, of the toolchain that is in use. */
async function prepareStandardLibrary(triple) {
  const folder = await output('rustc', ['--print', 'target-libdir', '--target', triple]);
  if (folder !== null && existsSync(folder)) return;
  await mustRun('rustup-target', 'rustup', ['target', 'add', triple]);
}
