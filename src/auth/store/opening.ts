import { isDiskFull } from '../../files/explained';
import { FORMER, refuseOlder, type Catalog } from './catalog';
import type { SqlConnection } from './connection';
import type { StoreDigest } from './digest';
import { emptyGeneration, type DigestFile, type Recorded } from './digest-file';
import { StoreDamaged } from './port';
import {
  FORMER_SCHEMA_VERSION,
  JOURNAL,
  LIMITS_SCHEMA_VERSION,
  LOCK,
  LOCKING,
  schemaVersion,
} from './schema';
import { verifyStore, type StoreProblem } from './verification';
import { completeFormer, makeNew } from './writing';

/** The store that is opened, beside its connection. */
export interface OpenedFile {
  readonly path: string;
  readonly digestFile: DigestFile;
  readonly catalog: Catalog;
  /** Whether a file without a schema is a new one where there is no digest file. */
  readonly mayBeNew: boolean;
  /** Whether it is opened to be read only: it is neither completed nor is its digest file brought up. */
  readonly atRest: boolean;
  /** Gets what is found damaged later, once. */
  readonly onFault?: (fault: StoreDamaged) => void;
}

/** A store of the former schema, which was opened to be read only and has to be completed before that. */
export class FormerSchema extends Error {
  override readonly name = 'FormerSchema';
}

/**
 * Locks and verifies a file, and makes or completes the store where it has to be. Gives its digest.
 * @throws StoreDamaged when it does not verify.
 * @throws FormerSchema
 */
export async function settle(connection: SqlConnection, file: OpenedFile): Promise<StoreDigest> {
  await connection.script(LOCKING);
  const version = await schemaVersion(connection);
  if (version === FORMER_SCHEMA_VERSION && file.atRest) {
    throw new FormerSchema();
  }
  await connection.script(JOURNAL);
  // A store that has its schema is not written: a server must start on a full disk.
  await connection.script(LOCK);
  // Read under the lock: the process before may have changed both until it let go of it.
  const recorded = await file.digestFile.read();
  if (version > LIMITS_SCHEMA_VERSION && recorded.state !== 'sound') {
    throw new Error(`${file.path} was written by a later release of KithDB (schema ${version})`);
  }
  if (version === 0 && isNew(file, recorded)) {
    const generation = emptyGeneration(recorded);
    await refuseOlder(file.path, generation, file.catalog);
    const digest = await makeNew(connection, generation + 1);
    await file.digestFile.write(digest);
    return digest;
  }
  const { own, problems } = await verifyStore(connection, recorded);
  if (problems.length > 0) {
    throw damagedBy(file, problems);
  }
  if (own === undefined) {
    await refuseOlder(file.path, FORMER, file.catalog);
  }
  const digest = own ?? (await completeFormer(connection));
  const isBehind = recorded.state !== 'sound' || recorded.digest.generation < digest.generation;
  if (isBehind && !file.atRest) {
    await bringUp(file.digestFile, digest);
  }
  return digest;
}

/** Writes the digest file that a kill prevented. A full disk must not keep a server from starting: it can stay behind. */
async function bringUp(digestFile: DigestFile, digest: StoreDigest): Promise<void> {
  try {
    await digestFile.write(digest);
  } catch (error) {
    await digestFile.discard();
    if (!isDiskFull(error)) throw error;
  }
}

function isNew({ mayBeNew, atRest }: OpenedFile, recorded: Recorded): boolean {
  return (
    !atRest &&
    (recorded.state === 'sound' ? recorded.digest.isEmpty : recorded.state === 'absent' && mayBeNew)
  );
}

/** The error that names what is damaged: the store, or the file with its digest. */
function damagedBy({ path, digestFile }: OpenedFile, problems: readonly StoreProblem[]): StoreDamaged {
  const file = problems.some(({ file: where }) => where === 'store') ? path : digestFile.path;
  return new StoreDamaged(file, problems.map(({ what }) => what).join('; '));
}
