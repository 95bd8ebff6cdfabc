/** What a benchmark over a data set is told on its command line. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/**
 * The flags of this process, of which `--data` must be one and name a folder with a `meta.json`. Where they are wrong
 * it ends, with what is wrong and the usage; `--help` shows the usage alone.
 *
 * @param {import('node:util').ParseArgsConfig['options']} options
 * @param {string} usage
 * @returns {Record<string, any>}
 */
export function readFlags(options, usage) {
  const flags = flagsOf(options, usage, (values) => values);
  if (existsSync(join(flags.data, 'meta.json'))) return flags;
  console.error(
    `${flags.data} has no meta.json: is --data right? data/debian-small comes with the repository`,
  );
  process.exit(1);
}

/**
 * The same of a folder of any kind, as `read` makes it of the values; what that throws is wrong with them.
 *
 * @template {{data?: string}} T
 * @param {import('node:util').ParseArgsConfig['options']} options
 * @param {string} usage
 * @param {(values: Record<string, any>) => T} read
 * @returns {T}
 */
export function flagsOf(options, usage, read) {
  try {
    const { values } = parseArgs({ options: { ...options, help: { type: 'boolean', short: 'h' } } });
    if (values.help) {
      console.log(usage);
      process.exit(0);
    }
    const flags = read(values);
    if (flags.data) return flags;
    throw new Error('--data FOLDER is required; data/debian-small comes with the repository');
  } catch (error) {
    console.error(`${error.message}\n`);
  }
  console.error(usage);
  process.exit(2);
}
