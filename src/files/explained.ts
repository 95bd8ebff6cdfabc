/** The message of an error, without its stack. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The causes of common errors of the operating system, in words for operators. */
const CAUSES: Readonly<Record<string, string>> = {
  EACCES: 'this user has no right to it: run the command as the user of the server',
  EPERM: 'this user has no right to it: run the command as the user of the server',
  ENOSPC: 'its disk is full',
  EDQUOT: 'its disk quota is used up',
  EISDIR: 'a folder stands in the place of the file',
  EROFS: 'its file system is read-only',
  EIO: 'its disk fails',
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of the path is no folder',
};

/** Codes of a full disk: the engine's, those of SQLite in either library, and the system's. */
const FULL: ReadonlySet<unknown> = new Set(['storage_full', 'SQLITE_FULL', 'ENOSPC', 'EDQUOT']);
const SQLITE_FULL = 13;

/** Whether an error says that a disk has no room for what was to be written. */
export function isDiskFull(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { readonly code?: unknown; readonly errcode?: number };
  // Extended codes of SQLite have the plain one in their last byte.
  return FULL.has(code) || (errcode !== undefined && (errcode & 0xff) === SQLITE_FULL);
}

/** What to do about the full disk of a data directory: a sentence without its full stop. */
export function diskFull(dataDir: string): string {
  return `the disk of the data directory ${dataDir} is full: make room on it, and run the command again`;
}

/** The message of an error; for errors of the operating system its path and its cause. */
export function explained(error: unknown): string {
  const { code, path, dest } = error as NodeJS.ErrnoException & { readonly dest?: string };
  const cause = code === undefined ? undefined : CAUSES[code];
  // Of a copy the target is named: usually it does not fit or may not be created.
  const place = dest ?? path;
  if (cause === undefined) {
    return reasonOf(error);
  }
  return place === undefined ? cause : `${place}: ${cause} (${code})`;
}
