import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { DIGEST_FILE } from '../auth/store/digest-file';
import { STORE_FILE } from '../auth/store/file';
import { makeFolder, syncFolder } from '../files/folder';

/** The files of authentication in a data directory and in a backup: the store, and the digest of what it holds. */
export const AUTH_FILES: readonly string[] = [STORE_FILE, DIGEST_FILE];
/** A file that exists in a data directory while a backup is restored into it. Nothing opens such a directory. */
export const UNFINISHED_RESTORE = 'RESTORING';

const HEX8 = '[0-9a-f]{8}';
const HEX16 = '[0-9a-f]{16}';
/** Everything that a data directory consists of: nothing else is copied, and no other path is accepted from a backup. */
const DATA_FILE = new RegExp(
  `^(?:(?:catalog|collections)/CATALOG|(?:log|catalog)/cut|log/${HEX16}\\.log|collections/${HEX16}/(?:MANIFEST|UNFINISHED|${HEX8}\\.data)|auth\\.(?:sqlite3|digest))$`,
);

/** Files of a data directory that are written once, under a name that is not used again. */
const WRITTEN_ONCE = new RegExp(`^collections/${HEX16}/${HEX8}\\.data$`);

/** Whether a relative path with `/` is that of a file that is written once: a link to it never leads to a write. */
export function isWrittenOnce(path: string): boolean {
  return WRITTEN_ONCE.test(path);
}

/** Whether a relative path with `/` is that of a file of a data directory. */
export function isDataFile(path: string): boolean {
  return DATA_FILE.test(path);
}

/**
 * The files of a data directory below a folder, in a fixed order. Links are followed, as by the engine; one that leads
 * nowhere is no file.
 */
export async function listDataFiles(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  const walk = async (relative: string, depth: number): Promise<void> => {
    for (const name of await namesIn(join(folder, relative))) {
      const path = `${relative}/${name}`;
      const kind = await unlessMissing(stat(join(folder, path)));
      if (kind?.isDirectory() === true && depth > 1) {
        await walk(path, depth - 1);
      } else if (kind?.isFile() === true && isDataFile(path)) {
        found.push(path);
      }
    }
  };
  for (const top of ['catalog', 'collections', 'log']) {
    await walk(top, top === 'collections' ? 2 : 1);
  }
  for (const name of AUTH_FILES) {
    if (await isFile(join(folder, name))) found.push(name);
  }
  return found;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return ((await unlessMissing(readdir(folder))) ?? []).sort();
}

/** Error codes of a path that leads to nothing, such as a link to itself or a path through a file. */
const NOTHING_THERE: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ELOOP', 'ENOTDIR']);

async function unlessMissing<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (NOTHING_THERE.has((error as NodeJS.ErrnoException).code)) {
      return undefined;
    }
    throw error;
  }
}

/** Whether there is a file of that name, and no link. */
export async function isFile(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

/** Whether a data directory has an unfinished restore. */
export function holdsUnfinishedRestore(dataDir: string): Promise<boolean> {
  return isFile(join(dataDir, UNFINISHED_RESTORE));
}

/** Why nothing opens a data directory with an unfinished restore, and what to do: a sentence without its full stop. */
export function unfinishedRestore(dataDir: string): string {
  return `A restore into ${dataDir} did not come to its end: empty the folder and restore again`;
}

/** Whether two folders are one, or one of them lies in the other, links followed; both may be missing. */
export async function lieInOneAnother(a: string, b: string): Promise<boolean> {
  const [one, other] = await Promise.all([placeOf(a), placeOf(b)]);
  return one === other || one.startsWith(other + sep) || other.startsWith(one + sep);
}

/** The real path of a folder that may be missing. */
async function placeOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) {
      throw error;
    }
    return join(await placeOf(dirname(path)), basename(path));
  }
}

/** The folder that mke2fs makes at the root of a file system, for what fsck finds. */
export const LOST_AND_FOUND = 'lost+found';

/** What exists at a path. The root of a new file system is empty. */
export async function folderState(path: string): Promise<'absent' | 'empty' | 'used' | 'no folder'> {
  try {
    if (!(await stat(path)).isDirectory()) {
      return 'no folder';
    }
    return (await readdir(path)).every((name) => name === LOST_AND_FOUND) ? 'empty' : 'used';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return 'absent';
    }
    throw error;
  }
}

/** Makes the folders above each of the paths below a folder, private, and makes their names durable. */
export async function makeFolders(folder: string, paths: readonly string[]): Promise<void> {
  const folders = new Set(paths.map((path) => dirname(path)));
  for (const below of folders) {
    await makeFolder(join(folder, below));
  }
}

/** Makes the names in all folders that hold one of the paths durable, from the innermost out. */
export async function syncFolders(folder: string, paths: readonly string[]): Promise<void> {
  const folders = new Set(['.']);
  for (const path of paths) {
    for (let at = dirname(path); at !== '.'; at = dirname(at)) {
      folders.add(at);
    }
  }
  for (const below of [...folders].sort((a, b) => b.length - a.length)) {
    await syncFolder(join(folder, below));
  }
}
