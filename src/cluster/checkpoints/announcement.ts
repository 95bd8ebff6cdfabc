import { objectIn } from '../json';

/** Asks a node to read a checkpoint back. */
export interface Announcement {
  readonly shard: string;
  /** Of the checkpoint. */
  readonly id: string;
  /** The node that is asked. */
  readonly reader: string;
}

export function encodeAnnouncement(announcement: Announcement): Buffer {
  return Buffer.from(JSON.stringify(announcement));
}

/** The announcement of some bytes; undefined where they are none. */
export function decodeAnnouncement(bytes: Uint8Array): Announcement | undefined {
  const value = objectIn(bytes);
  if (value === undefined) return undefined;
  const { shard, id, reader } = value;
  const isAnnouncement = typeof shard === 'string' && typeof id === 'string' && typeof reader === 'string';
  return isAnnouncement ? { shard, id, reader } : undefined;
}
