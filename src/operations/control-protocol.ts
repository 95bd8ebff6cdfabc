import { stat } from 'node:fs/promises';

/** File in a data directory with the address of its server's control socket: one JSON object. */
export const CONTROL_FILE = 'control';
/** Longest request. */
export const MAX_LINE_BYTES = 1024;

/** The one line that a server answers. */
export type ControlAnswer =
  | {
      /** Folder in the data directory with the files, which stay while the connection is open. */
      readonly staged: string;
      /** Identifies that folder, so that a copy of it elsewhere is not mistaken for it. */
      readonly identity: string;
      readonly hasStore: boolean;
      /** What is wrong with the store of authentication, which is then left out. */
      readonly storeFault?: string;
      readonly quarantined: readonly string[];
    }
  | { readonly error: string };

/** Device and inode of a folder, unique on this machine. */
export async function identityOf(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true });
  return `${dev}:${ino}`;
}
