/** Paths in the flags of `npm start`. npm runs it in the package's folder, but the paths are relative to the caller's. */
import { resolve } from 'node:path';

/**
 * The flags with each relative path made absolute.
 *
 * @param {string[]} flags
 * @param {string} folder where the caller is
 * @param {(flag: string, value: string) => boolean} namesPath whether this value of a flag, without its dashes, is a path
 * @returns {string[]}
 */
export function pathsFrom(flags, folder, namesPath) {
  return flags.map((flag, at) => {
    const [, name, value] = /^--([^=]+)=(.+)$/s.exec(flag) ?? [];
    if (name !== undefined) return namesPath(name, value) ? `--${name}=${resolve(folder, value)}` : flag;
    const before = flags[at - 1] ?? '';
    const isValue =
      before.startsWith('--') && flag !== '' && !flag.startsWith('--') && namesPath(before.slice(2), flag);
    return isValue ? resolve(folder, flag) : flag;
  });
}
