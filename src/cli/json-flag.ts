import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import { encodeJson, parseJson } from '../client/json';
import { CommandError, EXIT } from './console';
import { optionalFlag } from './flags';
import type { GivenFlags } from './verbs';
import { reasonOf } from '../files/explained';

/** Larger files are no values of a flag. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * The JSON of a flag, or of the file that it names; undefined where it was not given. Text that begins as an object or a
 * list does is JSON, everything else the name of a file. Integers beyond 2^53 are BigInts, and
 * a number beyond the floats is refused.
 * @throws CommandError
 */
export function jsonFlag(flags: GivenFlags, name: string): unknown {
  const given = optionalFlag(flags, name);
  if (given === undefined) {
    return undefined;
  }
  const isJson = /^\s*[[{]/.test(given);
  const text = isJson ? given : textOf(given, name);
  try {
    const value = parseJson(text);
    // A number beyond the floats is read as an infinite one, which cannot be sent.
    encodeJson(value);
    return value;
  } catch (error) {
    const reason = reasonOf(error);
    const what = isJson ? `--${name} must be JSON` : `${given}, which --${name} names, must be JSON`;
    throw new CommandError(`${what}: ${reason}`, EXIT.usage);
  }
}

function textOf(path: string, name: string): string {
  try {
    if (statSync(path).size > MAX_BYTES) {
      throw new CommandError(`${path} is larger than ${MAX_BYTES} bytes`, EXIT.usage);
    }
    const bytes = readFileSync(path);
    if (!isUtf8(bytes)) throw new CommandError(`${path} is not UTF-8`, EXIT.usage);
    return new TextDecoder().decode(bytes);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'there is no such file' : message;
    throw new CommandError(
      `--${name} must be JSON (a list or an object) or name a file with it, not ${path}: ${reason}`,
      EXIT.usage,
    );
  }
}
