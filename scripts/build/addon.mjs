/** The engine: `crates/node` compiled to a Node addon in `native/`, with the TypeScript types of its exports. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { announce, BuildError, mustRun, output } from './process.mjs';
import { fingerprint, forget, isCurrent, remember, root } from './tree.mjs';

const nativeDir = join(root, 'native');

/** What the build generates, and the copy of it that is committed. */
const generatedTypes = join(root, '.build', 'binding.d.ts');
const committedTypes = join(root, 'src', 'engine', 'binding.d.ts');

/** Builds the addon in release mode if its sources changed since it was last built here. */
export async function buildAddon() {
  if (addonIsCurrent()) return;
  const digest = sourceDigest();
  mkdirSync(nativeDir, { recursive: true });
  mkdirSync(join(root, '.build'), { recursive: true });
  await announce('Building the engine (Rust, optimised; the first time takes minutes)', () =>
    mustRun('engine', process.execPath, [
      join(root, 'node_modules', '@napi-rs', 'cli', 'dist', 'cli.js'),
      'build',
      '--platform',
      '--release',
      '--manifest-path',
      'crates/node/Cargo.toml',
      '--output-dir',
      'native',
      '--no-js',
      '--dts',
      '../.build/binding.d.ts',
      // A developer may be adding a dependency; CI and the image build what is committed.
      ...(process.env.CI ? ['--', '--locked'] : []),
    ]),
  );
  if (!hasAddon()) throw new BuildError('The engine was built, but native/ holds no addon.');
  remember('addon', digest);
}

/** Fails early, before anything else is built, when the addon has to be built and cannot be. */
export async function requireBuildableAddon() {
  if (!addonIsCurrent()) await requireRust();
}

/** Makes the addon in `native/` one that was not built from these sources. */
export function forgetAddon() {
  forget('addon');
}

/** Whether the addon was built from these sources. */
export function addonIsCurrent() {
  return hasAddon() && existsSync(generatedTypes) && isCurrent('addon', sourceDigest());
}

/** Only what the compiler reads: tests and benchmarks of the crates do not make the addon stale. */
function sourceDigest() {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return fingerprint(
    ['Cargo.toml', 'Cargo.lock', 'rust-toolchain.toml', 'crates'],
    (path) => !/[\\/](tests|target)[\\/]|^crates[\\/](bench|load)[\\/]/.test(path),
    [process.platform, process.arch, JSON.stringify(manifest.napi)],
  );
}

function hasAddon() {
  return existsSync(nativeDir) && readdirSync(nativeDir).some((name) => name.endsWith('.node'));
}

/** @throws {BuildError} when there is no Rust, or one that is too old for the crates */
async function requireRust() {
  const wanted =
    /^rust-version = "(.+)"$/m.exec(readFileSync(join(root, 'Cargo.toml'), 'utf8'))?.[1] ?? '1.0';
  const howTo =
    `KithDB's engine is built from source here and needs Rust ${wanted} or newer: https://rustup.rs\n` +
    'A machine without Rust takes the engine from a package: KITHDB_ENGINE_PACKAGE, see docs/packages.md.';
  const answer = await output('rustc', ['--version']);
  if (answer === null || (await output('cargo', ['--version'])) === null) {
    throw new BuildError(`No working Rust toolchain was found (rustc and cargo). ${howTo}`);
  }
  const found = /(\d+\.\d+)/.exec(answer)?.[1] ?? '0.0';
  if (isOlder(found, wanted)) throw new BuildError(`Rust ${found} is too old. ${howTo}`);
}

function isOlder(found, wanted) {
  const [a, b] = [found, wanted].map((version) => version.split('.').map(Number));
  return a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
}

/** Whether the committed types are those of the addon as it is built now. */
export function bindingTypesAreCurrent() {
  return existsSync(committedTypes) && readFileSync(committedTypes).equals(readFileSync(generatedTypes));
}

/** Writes the generated types over the committed ones; true when that changed them. */
export function updateBindingTypes() {
  if (bindingTypesAreCurrent()) return false;
  copyFileSync(generatedTypes, committedTypes);
  return true;
}
