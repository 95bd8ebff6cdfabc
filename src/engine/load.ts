import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type * as Binding from './binding';

/** Folder of the addon that was built from this source tree, or that the package brings. */
const NATIVE = join(__dirname, '..', '..', 'native');

/** Loads the addon: the one built here, else the package for this platform. */
export function loadBinding(): typeof Binding {
  const failures: string[] = [];
  for (const candidate of candidates()) {
    try {
      // eslint-disable-next-line @typescript-eslint/no-require-imports -- an addon can only be required
      return require(candidate) as typeof Binding;
    } catch (error) {
      failures.push(
        `${candidate}: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)}`,
      );
    }
  }
  throw new Error(
    `The native engine for ${process.platform}-${process.arch} could not be loaded. ` +
      `In a source tree run "npm run build"; installed from npm, reinstall without --no-optional.\n${failures.join('\n')}`,
  );
}

function candidates(): string[] {
  const built = existsSync(NATIVE) ? readdirSync(NATIVE) : [];
  const own = built
    .filter((name) => name.startsWith(`kithdb.${process.platform}-${process.arch}`) && name.endsWith('.node'))
    .map((name) => join(NATIVE, name));
  const suffixes =
    process.platform === 'linux' ? ['-gnu', '-musl'] : process.platform === 'win32' ? ['-msvc'] : [''];
  const packages = suffixes.map((suffix) => `@kithdb/engine-${process.platform}-${process.arch}${suffix}`);
  return [...own, ...packages];
}
