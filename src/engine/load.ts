import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { types } from 'node:util';
import { packageFolder } from '../system/package-folder';
import { productVersion } from '../system/version';
import type * as Binding from './binding';
import { enginePackage, HOST, PLATFORMS, platformOf } from './platform';

/** Folder of the addon that was built from this source tree. The published package has none. */
const NATIVE = join(packageFolder(), 'native');

/** From where an engine is loaded; tests name others. */
export interface EngineSources {
  /** Folder of local builds: `kithdb.PLATFORM.node`. */
  readonly native?: string;
  /** The platform's name, as in the package of its engine: `linux-x64-gnu`. */
  readonly platform?: string;
  /** Loads a package or one of its files, as `require` does. */
  readonly load?: (name: string) => unknown;
}

/** One place that was tried, and why it gave no engine. */
interface Failure {
  readonly where: string;
  readonly error: Error;
}

/** That of this process. Requests use it, and finding it asks Node for a report, which takes several milliseconds. */
let own: typeof Binding | undefined;

/**
 * Loads the engine of this platform: a local build first, then the platform's package.
 * @throws Error that says what was tried, what is missing and how to get it; its cause has the error of each try.
 */
export function loadBinding(sources?: EngineSources): typeof Binding {
  if (sources !== undefined) return bindingFrom(sources);
  own ??= bindingFrom({});
  return own;
}

function bindingFrom(sources: EngineSources): typeof Binding {
  const { native = NATIVE, platform = platformOf(HOST), load = createRequire(__filename) } = sources;
  const failures: Failure[] = [];
  for (const file of localBuilds(native, platform)) {
    const addon = attempt(file, failures, () => load(join(native, file)));
    if (addon !== undefined) return addon as typeof Binding;
  }
  const name = enginePackage(platform);
  if (PLATFORMS.includes(platform)) {
    const addon = attempt(name, failures, () => loadPackage(name, load));
    if (addon !== undefined) return addon as typeof Binding;
  }
  throw new Error(explain(platform, failures), {
    cause: new AggregateError(
      failures.map(({ error }) => error),
      failures.map(({ where }) => where).join(', '),
    ),
  });
}

/** The addons of a folder that were built for the platform. That of the tests does not name the C library. */
function localBuilds(native: string, platform: string): string[] {
  const names = [platform, platform.replace(/-(?:gnu|musl|msvc)$/, '')].map((name) => `kithdb.${name}.node`);
  const files = existsSync(native) ? readdirSync(native) : [];
  return names.filter((name) => files.includes(name));
}

/** An engine of another version may lack a function, or read another version of the files. */
function loadPackage(name: string, load: (name: string) => unknown): unknown {
  const { version } = load(`${name}/package.json`) as { readonly version: string };
  if (version !== productVersion()) {
    throw new Error(`it has version ${version}, and kithdb ${productVersion()} needs its own`);
  }
  return load(name);
}

function attempt(where: string, failures: Failure[], load: () => unknown): unknown {
  try {
    return load();
  } catch (thrown) {
    failures.push({ where, error: types.isNativeError(thrown) ? thrown : new Error(String(thrown)) });
    return undefined;
  }
}

function explain(platform: string, failures: readonly Failure[]): string {
  const broken = failures.filter(({ where, error }) => !isAbsent(where, error));
  return [
    broken.length === 0
      ? `There is no native engine for ${platform} here.`
      : `The native engine for ${platform} could not be loaded.`,
    ...broken.map(({ where, error }) => `${where}: ${error.message.split('\n')[0] ?? ''}`),
    ...(PLATFORMS.includes(platform) ? wayToPackage(platform) : wayFromSource()),
  ].join('\n');
}

/** Whether a package is not installed, and not one that it needs in turn. */
function isAbsent(name: string, error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND' && error.message.includes(`'${name}`);
}

function wayToPackage(platform: string): string[] {
  if (isSourceTree()) {
    return [
      'In this source tree npm run build builds it, with a stable Rust toolchain (https://rustup.rs). Without one,',
      `npm start takes the package ${enginePackage(platform)} from the tarball or folder that KITHDB_ENGINE_PACKAGE names.`,
    ];
  }
  return [
    `It is the package ${enginePackage(platform)}, version ${productVersion()}, an optional dependency of kithdb.`,
    'Where kithdb came from a registry, install it again without --omit=optional, and with a lock file that was',
    'written with the optional packages of this platform: remove package-lock.json and node_modules if it was not.',
    'Where it came from a tarball of npm run pack, install the tarball of the engine in the same command.',
  ];
}

function wayFromSource(): string[] {
  return [
    `There are engines for: ${PLATFORMS.join(', ')}.`,
    'Elsewhere it is built from source, with a stable Rust toolchain (https://rustup.rs): npm start in a clone.',
  ];
}

function isSourceTree(): boolean {
  return existsSync(join(packageFolder(), 'Cargo.toml'));
}
