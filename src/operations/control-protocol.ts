/** File in a data directory that says where its server takes orders: one JSON object. */
export const CONTROL_FILE = 'control';
/** Longest request. */
export const MAX_LINE_BYTES = 1024;

/** The one line that a server answers. */
export type ControlAnswer =
  | {
      /** Folder in the data directory with the files, which stay while the connection is open. */
      readonly staged: string;
      readonly hasStore: boolean;
      readonly quarantined: readonly string[];
    }
  | { readonly error: string };
