/** Who a node is: a file of its data directory, written once. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceSynced } from '../../files/synced';
import { NODE_FILE as FILE } from '../../operations/cluster-node';

export interface NodeIdentity {
  /** A UUID that the node made at its first start. */
  readonly node: string;
  readonly cluster: string;
}

const FORMAT = 1;

/** The data directory cannot belong to a node of the cluster. */
export class IdentityError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'IdentityError';
  }
}

/**
 * The identity in a data directory, which gets one where it has none. Only the process that holds the lock of the directory
 * may call this.
 * @throws IdentityError for a directory of another cluster, or a file that is not of this release
 */
export async function identityIn(dataDir: string, cluster: string): Promise<NodeIdentity> {
  const path = join(dataDir, FILE);
  const text = await readIfThere(path);
  if (text === undefined) {
    const identity = { node: randomUUID(), cluster };
    await replaceSynced(path, `${JSON.stringify({ format: FORMAT, ...identity })}\n`);
    return identity;
  }
  const identity = parse(path, text);
  if (identity.cluster !== cluster) {
    throw new IdentityError(
      `${path}: this data directory is of the cluster ${identity.cluster}, not of ${cluster}`,
    );
  }
  return identity;
}

/** Whether a data directory is of a node already. */
export async function hasIdentity(dataDir: string): Promise<boolean> {
  return (await readIfThere(join(dataDir, FILE))) !== undefined;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function parse(path: string, text: string): NodeIdentity {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new IdentityError(`${path} is damaged: it is not JSON`, { cause: error });
  }
  const { format, node, cluster } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof format === 'number' && format > FORMAT) {
    throw new IdentityError(
      `${path} has format ${format}, which a later release of KithDB wrote: upgrade this node`,
    );
  }
  const isUuid = typeof node === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(node);
  if (format !== FORMAT || !isUuid || typeof cluster !== 'string') {
    throw new IdentityError(`${path} is damaged: it does not name a node and its cluster`);
  }
  return { node, cluster };
}
