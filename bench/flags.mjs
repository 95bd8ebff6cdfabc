/** What a benchmark over a data set is told on its command line. */
import { parseArgs } from 'node:util';

/**
 * The flags of this process, of which `--data` must be one. Where they are wrong it ends, with what is wrong and the
 * usage.
 *
 * @param {import('node:util').ParseArgsConfig['options']} options
 * @param {string} usage
 * @returns {Record<string, any>}
 */
export function readFlags(options, usage) {
  try {
    const { values } = parseArgs({ options });
    if (values.data) return values;
  } catch (error) {
    console.error(error.message);
  }
  console.error(usage);
  process.exit(2);
}
