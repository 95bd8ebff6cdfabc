import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { chmod, copyFile, open } from 'node:fs/promises';
import { BackupError } from './failure';

/** Length and checksum of a file. */
export interface Digest {
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

const READ_BYTES = 1024 * 1024;

/** Reads a file to its end. */
export async function digestOf(path: string): Promise<Digest> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of createReadStream(path, { highWaterMark: READ_BYTES })) {
    hash.update(piece as Buffer);
    bytes += (piece as Buffer).length;
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** Whether two files hold the same. */
export function isSame(a: Digest, b: Digest): boolean {
  return a.bytes === b.bytes && a.sha256 === b.sha256;
}

/**
 * Copies a file, sharing its blocks where the file system can (a reflink), makes the copy durable and reads it back.
 * @throws BackupError when the copy is not what was expected.
 */
export async function copyVerified(source: string, target: string, expected: Digest): Promise<void> {
  await copyFile(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  await chmod(target, 0o600);
  const handle = await open(target, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
  if (!isSame(await digestOf(target), expected)) {
    throw new BackupError(
      `The copy ${target} is not what was read from ${source}: one of the two disks is failing`,
    );
  }
}
