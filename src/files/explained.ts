/** The words of an error, without its stack. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What an operator can do about the errors of the operating system that they meet. */
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

/** The words of an error, with the place and the cause in place of those of the operating system. */
export function explained(error: unknown): string {
  const { code, path, dest } = error as NodeJS.ErrnoException & { readonly dest?: string };
  const cause = code === undefined ? undefined : CAUSES[code];
  // Of a copy it is the new file that does not fit, and mostly the one that may not be made.
  const place = dest ?? path;
  if (cause === undefined) {
    return reasonOf(error);
  }
  return place === undefined ? cause : `${place}: ${cause} (${code})`;
}
