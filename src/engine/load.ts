import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type * as Binding from './binding';

/** Folder of the addon that was built from this source tree, or that the package brings. */
const NATIVE = join(__dirname, '..', '..', 'native');

/**
 * Loads the addon for this platform.
 * @throws Error that says which platforms there are addons for, and how to build one.
 */
export function loadBinding(folder = NATIVE): typeof Binding {
  const platform = `${process.platform}-${process.arch}`;
  const addons = (existsSync(folder) ? readdirSync(folder) : [])
    .map((file) => ({ file, target: /^kithdb\.(.+)\.node$/.exec(file)?.[1] ?? '' }))
    .filter(({ target }) => target !== '');
  const failures: string[] = [];
  for (const { file, target } of addons) {
    if (target === platform || target.startsWith(`${platform}-`)) {
      try {
        // eslint-disable-next-line @typescript-eslint/no-require-imports -- an addon can only be required
        return require(join(folder, file)) as typeof Binding;
      } catch (error) {
        failures.push(
          `${file}: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)}`,
        );
      }
    }
  }
  const targets = addons.map(({ target }) => target).sort();
  throw new Error(
    [
      failures.length === 0
        ? `There is no native engine for ${platform} here.`
        : `The native engine for ${platform} could not be loaded.`,
      ...failures,
      `This installation holds one for: ${targets.length === 0 ? 'no platform' : targets.join(', ')}.`,
      'Elsewhere it is built from source, with a stable Rust toolchain (https://rustup.rs):',
      '    git clone https://github.com/kithdb/kithdb && cd kithdb && npm start',
      'In a source tree, npm run build builds it.',
    ].join('\n'),
  );
}
