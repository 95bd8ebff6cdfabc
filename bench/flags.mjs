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
  try {
    const { values } = parseArgs({ options: { ...options, help: { type: 'boolean', short: 'h' } } });
    if (values.help) {
      console.log(usage);
      process.exit(0);
    }
    if (!values.data)
      throw new Error('--data FOLDER is required; data/debian-small comes with the repository');
    if (existsSync(join(values.data, 'meta.json'))) return values;
    console.error(
      `${values.data} has no meta.json: is --data right? data/debian-small comes with the repository`,
    );
    process.exit(1);
  } catch (error) {
    console.error(`${error.message}\n`);
  }
  console.error(usage);
  process.exit(2);
}
