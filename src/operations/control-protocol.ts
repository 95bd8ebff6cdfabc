import { stat } from 'node:fs/promises';
import { readTokenOrder, type TokenOrder, type TokenOutcome } from './token-requests';

/** File in a data directory with the address of its server's control socket: one JSON object. */
export const CONTROL_FILE = 'control';
/**
 * Longest request: the JSON of a password of 1,024 bytes, or of the description of a token, takes up to six times as much;
 * that of what a token may reach, far more.
 */
export const MAX_LINE_BYTES = 262_144;

/** What a command asks of a running server: one line. */
export type ControlRequest =
  | { readonly kind: 'backup' }
  /** Whether data endpoints are served: `crates/health` asks. */
  | { readonly kind: 'health' }
  | {
      readonly kind: 'reset password' | 'create admin';
      /** Identifies the data directory that the command was given: the address may be that of another server. */
      readonly folder: string;
      /** It has passed the policy. */
      readonly password: string;
    }
  | {
      /** `note backup`: a whole backup of the directory was made. */
      readonly kind: 'rotate secret' | 'note backup';
      /** As above. */
      readonly folder: string;
    }
  | (TokenOrder & {
      /** As above. */
      readonly folder: string;
    });

/** A server's answer to `backup`. */
export interface BackupAnswer {
  /** Folder in the data directory with the files, which stay while the connection is open. */
  readonly staged: string;
  /** Identifies that folder, so that a copy of it elsewhere is not mistaken for it. */
  readonly identity: string;
  /** After so many milliseconds without a byte from the client the server takes the files back. */
  readonly silenceMs: number;
  readonly hasStore: boolean;
  /** What is wrong with the store of authentication, which is then left out. */
  readonly storeFault?: string;
  readonly quarantined: readonly string[];
}

/** A server's answer to `create admin`, `reset password`, `rotate secret` and `note backup`: it is done, or the folder is not the one that is served. */
export interface ChangeAnswer {
  readonly change: 'done' | 'other folder';
}

/** A server's answer to `health`: `ready`, or what it is instead. */
export interface HealthAnswer {
  readonly health: string;
}

/** A server's answer to an order about access tokens. */
export type TokensAnswer = TokenOutcome;

/** A refusal; after a `BackupAnswer`, why the server takes the files back. */
export interface ControlRefusal {
  readonly error: string;
}

/** A line that a server sends. */
export type ControlAnswer = BackupAnswer | ChangeAnswer | HealthAnswer | TokensAnswer | ControlRefusal;

/** Device and inode of a folder, unique on this machine. */
export async function identityOf(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true });
  return `${dev}:${ino}`;
}

/** A request as the line that is sent, without its end. */
export function writeRequest(request: ControlRequest): string {
  return JSON.stringify(request);
}

/** The request of a line; undefined for anything else. */
export function readRequest(line: string): ControlRequest | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const fields = (value ?? {}) as Record<string, unknown>;
  const { folder, ...ordered } = fields;
  const { kind, password } = ordered;
  if (kind === 'backup' || kind === 'health') {
    return { kind };
  }
  if ((kind === 'rotate secret' || kind === 'note backup') && typeof folder === 'string') {
    return { kind, folder };
  }
  const order = readTokenOrder(ordered);
  if (order !== undefined) {
    return typeof folder === 'string' ? { ...order, folder } : undefined;
  }
  const isOfPassword = kind === 'reset password' || kind === 'create admin';
  return isOfPassword && typeof folder === 'string' && typeof password === 'string'
    ? { kind, folder, password }
    : undefined;
}
