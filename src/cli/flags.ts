import { CommandError, EXIT } from './console';
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
