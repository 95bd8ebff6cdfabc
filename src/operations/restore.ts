import { readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { renewFormerStore } from '../auth/renewal';
import { CatalogAtRest } from '../auth/store/catalog';
import { StoreDigest } from '../auth/store/digest';
import { DigestFile } from '../auth/store/digest-file';
import { STORE_FILE } from '../auth/store/file';
import type { Config } from '../config';
import { lockDataDir, type DirectoryLock } from '../engine/offline';
import { FILES, readManifest, type BackupFile } from './backup-manifest';
import { copyVerified, digestOf, isSame } from './copying';
import {
  AUTH_FILES,
  folderState,
  holdsUnfinishedRestore,
  isFile,
  lieInOneAnother,
  LOST_AND_FOUND,
  makeFolders,
  syncFolders,
  UNFINISHED_RESTORE,
} from './data-files';
import { makeFolder, syncFolder } from '../files/folder';
import { BackupError } from './failure';
import { explained, reasonOf } from '../files/explained';
import { writeSynced } from '../files/synced';

/** What to restore, and where to. */
export interface RestoreRequest {
  readonly from: string;
  /** A new or empty folder. */
  readonly to: string;
  /** Leaves the store of authentication out, which the backup may lack: what it said is gone. */
  readonly withoutAuth: boolean;
  readonly tokenStore: Config['tokenStore'];
}

/** A backup that was restored. */
export interface RestoreOutcome {
  readonly dataDir: string;
  /** When the backup was made: RFC 3339, UTC. */
  readonly createdAt: string;
  readonly files: number;
  readonly bytes: number;
  /** Whether authentication begins as at a first start. */
  readonly withoutAuth: boolean;
}

/** The file that the engine locks in a data directory. */
const LOCK = 'lock';
/** What a folder may have that no process has used, or that one has only locked. */
const EMPTY: ReadonlySet<string> = new Set([LOCK, LOST_AND_FOUND]);
/**
 * The engine's note of the syncs that came in parts. It is in no backup, so the next start must not take it for known that
 * there are none.
 */
const STAGED_SYNCS = 'catalog/staged-syncs';
const UNKNOWN_SYNCS = 'restored\n';

/**
 * Makes a data directory of a backup. Nothing is written before every file of the backup is verified. From then on the new
 * directory is locked, and while the files are copied it has a mark that keeps servers from opening it later. The mark is
 * removed when everything is durable and was read back. The JWT secret is in no backup of this release: the new directory
 * makes one.
 * @throws BackupError that says what is wrong with the backup or the target.
 */
export async function restoreBackup(request: RestoreRequest): Promise<RestoreOutcome> {
  const { to } = request;
  try {
    return await copyBackup(request);
  } catch (error) {
    if (error instanceof BackupError) {
      throw error;
    }
    const begun = await holdsUnfinishedRestore(to);
    const left = begun ? `. Empty ${resolve(to)} and restore again when that is mended` : '';
    throw new BackupError(`Nothing was restored: ${explained(error)}${left}`, { cause: error });
  }
}

async function copyBackup(request: RestoreRequest): Promise<RestoreOutcome> {
  const folder = resolve(request.from);
  const dataDir = resolve(request.to);
  const { files: inBackup, created_at: createdAt } = await readManifest(folder);
  const files = wanted(inBackup, folder, request);
  const state = await refuseTarget(dataDir);
  // Otherwise the data directory would be in the folder of the backup, and removed with it.
  if (await lieInOneAnother(dataDir, folder)) {
    throw new BackupError(`${dataDir} and the backup ${folder} must not lie in one another`);
  }
  const source = join(folder, FILES);
  for (const file of files) {
    const path = join(source, file.path);
    if (!(await isFile(path)) || !isSame(await digestOf(path), file)) {
      throw new BackupError(
        `${path} is missing or does not have its checksum: this backup is damaged and nothing was restored`,
      );
    }
  }
  if (state === 'absent') {
    await makeFolder(dataDir);
  }
  await whileLocked(dataDir, async () => {
    // A server may have run in it meanwhile.
    await refuseTarget(dataDir);
    await mark(dataDir);
    await fill(dataDir, source, files, request);
    await rm(join(dataDir, UNFINISHED_RESTORE));
    await syncFolder(dataDir);
  });
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return { dataDir, createdAt, files: files.length, bytes, withoutAuth: request.withoutAuth };
}

/** Copies the verified files of a backup, durably. */
async function fill(
  dataDir: string,
  source: string,
  files: readonly BackupFile[],
  request: RestoreRequest,
): Promise<void> {
  const paths = files.map(({ path }) => path);
  const hasEngineFiles = paths.some((path) => !AUTH_FILES.includes(path));
  const made = hasEngineFiles ? [...paths, STAGED_SYNCS] : paths;
  await makeFolders(dataDir, made);
  for (const file of files) {
    await copyVerified(join(source, file.path), join(dataDir, file.path), file);
  }
  if (hasEngineFiles) {
    await writeSynced(join(dataDir, STAGED_SYNCS), UNKNOWN_SYNCS, 'wx');
  }
  await syncFolders(dataDir, made);
  await settleAuth(dataDir, paths, request);
}

/** Does something while no other process may use the folder. Where nothing came of it, the file of the lock goes too. */
async function whileLocked(dataDir: string, work: () => Promise<void>): Promise<void> {
  const hadLock = await isFile(join(dataDir, LOCK));
  const lock = lockTarget(dataDir);
  try {
    await work();
  } catch (error) {
    if (!hadLock && !(await holdsUnfinishedRestore(dataDir))) {
      await rm(join(dataDir, LOCK), { force: true }).catch(() => undefined);
    }
    throw error;
  } finally {
    lock.release();
  }
}

/** @throws BackupError where another process uses the folder, or a restore into it is unfinished. */
function lockTarget(dataDir: string): DirectoryLock {
  try {
    return lockDataDir(dataDir);
  } catch (error) {
    throw new BackupError(`Nothing was restored into ${dataDir}: ${reasonOf(error)}`, { cause: error });
  }
}

/**
 * Whether a folder that a backup may be restored into exists.
 * @throws BackupError where it is not new or empty.
 */
export async function refuseTarget(dataDir: string): Promise<'absent' | 'empty'> {
  const state = await folderState(dataDir);
  if (state === 'no folder') {
    throw new BackupError(`${dataDir} is no folder: a backup is restored into a new or empty one`);
  }
  if (state === 'absent' || state === 'empty') {
    return state;
  }
  if (await holdsUnfinishedRestore(dataDir)) {
    // The lock says whether it still runs.
    lockTarget(dataDir).release();
  }
  // One that was locked and not used, as by a restore that was killed before it wrote anything.
  if ((await readdir(dataDir)).every((name) => EMPTY.has(name))) {
    return 'empty';
  }
  throw new BackupError(
    `${dataDir} is not empty: a backup is restored into a new or empty folder, which --data-dir names`,
  );
}

/** @throws BackupError where the store of authentication is missing, and nobody said that it may be. */
function wanted(
  files: readonly BackupFile[],
  folder: string,
  request: RestoreRequest,
): readonly BackupFile[] {
  if (request.withoutAuth) {
    return files.filter(({ path }) => !AUTH_FILES.includes(path));
  }
  if (!files.some(({ path }) => path === STORE_FILE)) {
    throw new BackupError(
      `${folder} has no store of authentication, and nothing was restored: a server of it would serve everybody. Restore an earlier backup; or, where the data never had one because only programs opened them, give --without-auth: then authentication begins as at a first start`,
    );
  }
  return files;
}

async function settleAuth(
  dataDir: string,
  paths: readonly string[],
  { withoutAuth, tokenStore }: RestoreRequest,
): Promise<void> {
  if (withoutAuth) {
    // Says that no store is missing here. The one that is made is newer than any that the catalog of the backup knows.
    const noted = await new CatalogAtRest(dataDir).generation();
    await new DigestFile(dataDir).write(StoreDigest.empty(noted));
  } else if (!AUTH_FILES.every((name) => paths.includes(name))) {
    await renewFormerStore(dataDir, tokenStore === 'memory' ? undefined : tokenStore);
  }
}

async function mark(dataDir: string): Promise<void> {
  await writeSynced(join(dataDir, UNFINISHED_RESTORE), '', 'wx');
  await syncFolder(dataDir);
}
