import { stat } from 'node:fs/promises';

/** File in a data directory that says where its server takes orders: one JSON object. */
export const CONTROL_FILE = 'control';
/** Longest request. */
export const MAX_LINE_BYTES = 1024;

/** The one line that a server answers. */
export type ControlAnswer =
  | {
      /** Folder in the data directory with the files, which stay while the connection is open. */
      readonly staged: string;
      /** Which folder that is, so that nobody takes one of the same name elsewhere for it. */
      readonly identity: string;
      readonly hasStore: boolean;
      /** What is wrong with the store of authentication, which is then left out. */
      readonly storeFault?: string;
      readonly quarantined: readonly string[];
    }
  | { readonly error: string };

/** What no other folder of this machine has, wherever both are mounted. */
export async function identityOf(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true });
  return `${dev}:${ino}`;
}
