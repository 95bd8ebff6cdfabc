import { CommandError, EXIT, type Console } from './console';
import type { GivenFlags } from './verbs';

/** The value of a required flag of a verb. @throws CommandError */
export function requiredFlag(flags: GivenFlags, name: string, placeholder: string): string {
  const value = flags.get(name);
  if (typeof value !== 'string') {
    throw new CommandError(`--${name} ${placeholder} is required`, EXIT.usage);
  }
  return value;
}

/** The value of a flag, where it was given. */
export function optionalFlag(flags: GivenFlags, name: string): string | undefined {
  const value = flags.get(name);
  return typeof value === 'string' ? value : undefined;
}

/** The whole number of a flag. @throws CommandError when it is none, or out of its bounds */
export function numberFlag(
  flags: GivenFlags,
  name: string,
  {
    lowest,
    highest,
    fallback,
  }: { readonly lowest: number; readonly highest: number; readonly fallback: number },
): number {
  const value = optionalFlag(flags, name);
  if (value === undefined) {
    return fallback;
  }
  const number = /^\d{1,9}$/.test(value) ? Number(value) : NaN;
  if (!(number >= lowest && number <= highest)) {
    throw new CommandError(`--${name} must be a whole number from ${lowest} to ${highest}`, EXIT.usage);
  }
  return number;
}

/** Says what was done: a sentence, or with `--json` an object. */
export function say({ stdout }: Console, flags: GivenFlags, sentence: string, outcome: object): void {
  stdout.write(`${flags.has('json') ? JSON.stringify(outcome) : sentence}\n`);
}
