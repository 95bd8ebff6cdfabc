/** The command line of a benchmark over a data set. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/** True for a whole number from 1 on, otherwise what it should be. */
export function whole(text) {
  return /^[1-9]\d{0,14}$/.test(text) || 'a whole number from 1 on';
}

/** True for a number above 0, otherwise what it should be. */
export function positive(text) {
  return (Number(text) > 0 && Number.isFinite(Number(text))) || 'a number above 0';
}

/** The same check for each part of a list. */
export function listOf(check) {
  return (text) =>
    text
      .split(',')
      .map(check)
      .find((verdict) => verdict !== true) ?? true;
}

/** Ends the process where no server answers at the address that a flag has. */
export async function mustAnswer(url, flag = '--url') {
  try {
    await fetch(new URL('/readyz', url), { signal: AbortSignal.timeout(10_000) });
  } catch (error) {
    console.error(`${flag} ${url}: no server answers there (${error.cause?.code ?? error.message})`);
    process.exit(2);
  }
}

/**
 * The flags of this process. `--data`, where it is among the options, is required and must name a folder with a `meta.json`.
 * With wrong flags the process prints what is wrong and the usage, and ends; `--help` prints the usage alone.
 *
 * @param {import('node:util').ParseArgsConfig['options']} options
 * @param {string} usage
 * @param {Record<string, (text: string) => true | string>} [checks] by flag: true, or what its value should be
 * @returns {Record<string, any>}
 */
export function readFlags(options, usage, checks = {}) {
  const flags = flagsOf(options, usage, (values) => {
    for (const [name, check] of Object.entries(checks)) {
      const verdict = values[name] === undefined || check(values[name]);
      if (verdict !== true) throw new Error(`--${name} ${values[name]}: ${verdict}`);
    }
    return values;
  });
  if (!('data' in options) || existsSync(join(flags.data, 'meta.json'))) return flags;
  console.error(
    `${flags.data} has no meta.json: is --data right? data/debian-small comes with the repository`,
  );
  process.exit(1);
}

/**
 * The same for a folder of any kind. `read` makes the result of the values; an error that it throws is reported as theirs.
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
    if (flags.data || !('data' in options)) return flags;
    throw new Error('--data FOLDER is required; data/debian-small comes with the repository');
  } catch (error) {
    console.error(`${error.message}\n`);
  }
  console.error(usage);
  process.exit(2);
}
