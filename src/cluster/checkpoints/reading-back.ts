import type { Logger } from 'pino';
import {
  CheckpointStoreError,
  type CheckpointFile,
  type CheckpointManifest,
  type CheckpointStore,
} from '../store/checkpoint-store';

const keyOf = ({ sha256, upload }: CheckpointFile): string => `${sha256}.${upload}`;

/**
 * The name under which a node notes that it has read a checkpoint back. Its own ones it reads where it is the only node of the
 * cluster, and notes that apart from having written them.
 */
function readerOf({ node: writer }: CheckpointManifest, node: string): string {
  return node === writer ? `${node}.alone` : node;
}

/**
 * Reads a checkpoint back, and notes that; files that this node has read back with an earlier
 * checkpoint are not read again. A damaged checkpoint is taken out of the store. Rejects with a `CheckpointStoreError`.
 */
export async function readBack(
  { node, store, log }: { readonly node: string; readonly store: CheckpointStore; readonly log: Logger },
  shard: string,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const { checkpoints } = await store.list(shard);
  const asked = checkpoints.find(({ manifest }) => manifest.id === id);
  if (asked === undefined) return;
  const { manifest, confirmedBy: readers } = asked;
  const reader = readerOf(manifest, node);
  if (readers.includes(reader)) return;
  const earlier = checkpoints.filter(({ confirmedBy }) => confirmedBy.includes(reader));
  const known = new Set(earlier.flatMap((one) => one.manifest.files.map(keyOf)));
  const files = manifest.files.filter((file) => !known.has(keyOf(file)));
  try {
    if (files.length > 0) await store.verify({ ...manifest, files }, signal);
    await store.confirm(manifest, reader);
  } catch (error) {
    const isBad =
      error instanceof CheckpointStoreError && (error.problem === 'damaged' || error.problem === 'missing');
    if (isBad) {
      log.error({ checkpoint: id, err: error }, 'a checkpoint is damaged: it is removed');
      await store.discard(manifest);
    }
    throw error;
  }
}
