import { open } from 'node:fs/promises';
import { join } from 'node:path';

/** The name of the manifest among the files of a checkpoint (docs/formats.md, _Manifest_). */
const MANIFEST = 'MANIFEST';
const MAGIC = 'KITHMANI';
/** Where the number of the last operation is: behind the magic, the version and a checksum. */
const OPERATION_AT = 16;
const HEAD_BYTES = OPERATION_AT + 8;
/** Operation numbers for each record of a stream (docs/cluster.md, _Operation numbers_), as a power of two. */
const NUMBERS_PER_RECORD_BITS = 20n;

/**
 * The position of the checkpoint in a folder: the sequence of the last record that is in it.
 * @throws Error for a folder without a manifest of the engine.
 */
export async function positionOfCheckpoint(folder: string): Promise<number> {
  const file = await open(join(folder, MANIFEST), 'r');
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    const { bytesRead } = await file.read(head, 0, HEAD_BYTES, 0);
    if (bytesRead < HEAD_BYTES || head.toString('latin1', 0, MAGIC.length) !== MAGIC) {
      throw new Error('the checkpoint of a replica has no manifest of the engine');
    }
    return Number(head.readBigUInt64LE(OPERATION_AT) >> NUMBERS_PER_RECORD_BITS);
  } finally {
    await file.close();
  }
}
