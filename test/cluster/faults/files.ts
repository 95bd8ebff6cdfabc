/** What happens to files of a process that does not run. */
import {
  closeSync,
  cpSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

/** The files below a folder whose paths match, with something in them. */
export function filesBelow(folder: string, pattern: RegExp): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const paths = names.filter((name) => pattern.test(name)).map((name) => join(folder, name));
  return paths.filter((path) => {
    const stat = statSync(path);
    return stat.isFile() && stat.size > 0;
  });
}

/** Flips one bit of a file; `random` says which. */
export function flipBit(path: string, random: () => number): void {
  const file = openSync(path, 'r+');
  try {
    const at = Math.floor(random() * fstatSync(file).size);
    const byte = Buffer.alloc(1);
    readSync(file, byte, 0, 1, at);
    writeSync(file, Buffer.from([byte[0]! ^ (1 << Math.floor(random() * 8))]), 0, 1, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Removes up to so many bytes of the end of a file. */
export function cutTail(path: string, bytes: number): void {
  truncateSync(path, Math.max(0, statSync(path).size - bytes));
}

/** Gives a folder the content of another one. */
export function replaceFolder(folder: string, by: string): void {
  emptyFolder(folder);
  cpSync(by, folder, { recursive: true });
}

/** Removes what is in a folder, but for some names. */
export function emptyFolder(folder: string, kept: readonly string[] = []): void {
  for (const name of readdirSync(folder)) {
    if (!kept.includes(name)) rmSync(join(folder, name), { recursive: true });
  }
}
