/** Who a node is: a file of its data directory, written once. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceSynced } from '../../files/synced';
import { isObject } from '../json';
import { NODE_FILE as FILE } from '../../operations/cluster-node';

export interface NodeIdentity {
  /** A UUID that the node made at its first start. */
  readonly node: string;
  readonly cluster: string;
  /** What it brings into the cluster, until all of it is there. */
  readonly brings?: BroughtContent;
}

/** The collections of a single node that becomes the first one of a cluster, by name, and their aliases. */
export interface BroughtContent {
  readonly collections: readonly string[];
  readonly aliases: readonly { readonly alias: string; readonly collection: string }[];
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
 * The identity in a data directory; undefined where it has none. Only the process that holds the lock of the directory may
 * call this.
 * @throws IdentityError for a directory of another cluster, or a file that is not of this release
 */
export async function identityIn(dataDir: string, cluster: string): Promise<NodeIdentity | undefined> {
  const identity = await anyIdentityIn(dataDir);
  if (identity !== undefined && identity.cluster !== cluster) {
    throw new IdentityError(
      `${join(dataDir, FILE)}: this data directory is of the cluster ${identity.cluster}, not of ${cluster}`,
    );
  }
  return identity;
}

/** The identity in a data directory, of whichever cluster it is. @throws IdentityError for a file that is not of this release */
export async function anyIdentityIn(dataDir: string): Promise<NodeIdentity | undefined> {
  const path = join(dataDir, FILE);
  const text = await readIfThere(path);
  return text === undefined ? undefined : parse(path, text);
}

/** Gives a data directory that has none an identity, durably. */
export async function makeIdentity(
  dataDir: string,
  cluster: string,
  brings?: BroughtContent,
): Promise<NodeIdentity> {
  const identity = { node: randomUUID(), cluster, ...(brings !== undefined && { brings }) };
  await write(dataDir, identity);
  return identity;
}

/** Notes that all that the node brings is in the cluster. */
export async function noteBrought(dataDir: string, { node, cluster }: NodeIdentity): Promise<void> {
  await write(dataDir, { node, cluster });
}

function write(dataDir: string, identity: NodeIdentity): Promise<void> {
  return replaceSynced(join(dataDir, FILE), `${JSON.stringify({ format: FORMAT, ...identity })}\n`);
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
  const { format, node, cluster, brings } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof format === 'number' && format > FORMAT) {
    throw new IdentityError(
      `${path} has format ${format}, which a later release of KithDB wrote: upgrade this node`,
    );
  }
  const isUuid = typeof node === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(node);
  if (format !== FORMAT || !isUuid || typeof cluster !== 'string') {
    throw new IdentityError(`${path} is damaged: it does not name a node and its cluster`);
  }
  if (brings === undefined) return { node, cluster };
  if (!isContent(brings))
    throw new IdentityError(`${path} is damaged: what it brings is no list of collections`);
  return { node, cluster, brings };
}

function isContent(value: unknown): value is BroughtContent {
  if (!isObject(value)) return false;
  const { collections, aliases } = value;
  const isAlias = (one: unknown): boolean =>
    isObject(one) && typeof one['alias'] === 'string' && typeof one['collection'] === 'string';
  return (
    Array.isArray(collections) &&
    collections.every((name) => typeof name === 'string') &&
    Array.isArray(aliases) &&
    aliases.every(isAlias)
  );
}
