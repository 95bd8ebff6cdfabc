import { isCount, objectIn } from '../json';

/** What a replica has of a stream that was lost. */
export interface FrozenReplica {
  readonly node: string;
  /** The name of the replica. */
  readonly replica: string;
  readonly group: number;
  /** Of the lost stream. */
  readonly epoch: number;
  /** The position of the last record that changed it; 0 for none. */
  readonly position: number;
  readonly digest: string;
  /** Whether what is left of the stream has that record. */
  readonly isInStream: boolean;
}

export function encodeFrozen(frozen: FrozenReplica): Buffer {
  return Buffer.from(JSON.stringify(frozen));
}

/** The replica of some bytes; undefined where they are none. */
export function decodeFrozen(bytes: Uint8Array): FrozenReplica | undefined {
  const value = objectIn(bytes);
  if (value === undefined) return undefined;
  const { node, replica, group, epoch, position, digest, isInStream } = value;
  const isFrozen =
    typeof node === 'string' &&
    typeof replica === 'string' &&
    typeof digest === 'string' &&
    typeof isInStream === 'boolean' &&
    isCount(group) &&
    isCount(epoch) &&
    isCount(position);
  return isFrozen ? { node, replica, group, epoch, position, digest, isInStream } : undefined;
}
