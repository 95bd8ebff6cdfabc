import { link, mkdir, rm, rmdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Config } from '../config';
import { copyStoreAtRest } from '../auth/store/copy';
import { STORE_FILE } from '../auth/store/file';
import { damageOf } from '../auth/store/port';
import { lockDataDir, verifyEngineFiles } from '../engine/offline';
import { productVersion } from '../system/version';
import { FILES, readManifest, writeManifest, type BackupFile, type BackupManifest } from './backup-manifest';
import { stageLive, type Staged } from './control-client';
import { copyVerified, digestOf, isSame } from './copying';
import { refuseNode } from './cluster-node';
import { requireDataDir } from './data-dir';
import {
  AUTH_FILES,
  folderState,
  lieInOneAnother,
  listDataFiles,
  makeFolders,
  syncFolders,
} from './data-files';
import { makeFolder } from '../files/folder';
import { BackupError } from './failure';
import { explained, reasonOf } from '../files/explained';

/** What to back up, and where to. */
export interface BackupRequest {
  readonly dataDir: string;
  /** A new or empty folder. */
  readonly to: string;
  /** An earlier backup; what has not changed since is linked to it. */
  readonly base?: string;
  /** Removes what was copied when there is no backup in the end; otherwise it is left for whoever looks into it. */
  readonly removesPart?: boolean;
  readonly tokenStore: Config['tokenStore'];
}

/** A backup that was made. */
export interface BackupOutcome {
  /** Its folder. */
  readonly to: string;
  /** Whether a server was running. */
  readonly live: boolean;
  readonly files: number;
  readonly bytes: number;
  /** Files that are links to the base, and their bytes. */
  readonly linked: number;
  readonly linkedBytes: number;
  readonly quarantined: readonly string[];
  /**
   * Files that are damaged in the data directory already, and so in the backup, or `missing` in it where they could not
   * be copied: an earlier one may have them whole.
   */
  readonly damaged: readonly { readonly file: string; readonly what: string; readonly missing: boolean }[];
  /** Files of a later release: they were copied and read back, and what is in them this one cannot verify. */
  readonly unverified: readonly { readonly file: string; readonly what: string }[];
}

/** Whether all data are in a backup as they were written: whether it is more than what could be saved. */
export function isWhole({ damaged, quarantined, unverified }: BackupOutcome): boolean {
  return damaged.length + quarantined.length + unverified.length === 0;
}

/** An earlier backup, by path. */
interface Base {
  readonly folder: string;
  readonly files: ReadonlyMap<string, BackupFile>;
}

/**
 * Copies a data directory into a new folder, also while a server serves it: then the server stages its files
 * meanwhile. Every write that was acknowledged before is in the copy, every collection is at one operation, and every file
 * was read back.
 * @throws BackupError that says why there is none; what was copied so far is left, without a manifest.
 */
export async function makeBackup(request: BackupRequest): Promise<BackupOutcome> {
  try {
    return await copyDataDir(request);
  } catch (error) {
    throw new BackupError(whyNone(request.to, error), { cause: error });
  }
}

/** Why there is no backup in a folder: a sentence without its full stop. */
function whyNone(to: string, error: unknown): string {
  return error instanceof BackupError ? error.message : `There is no backup in ${to}: ${explained(error)}`;
}

async function copyDataDir(request: BackupRequest): Promise<BackupOutcome> {
  const dataDir = resolve(request.dataDir);
  const to = resolve(request.to);
  checkSource(dataDir);
  const base = request.base === undefined ? undefined : await openBase(resolve(request.base));
  await prepareTarget(to, dataDir);
  await takeTarget(to);
  try {
    return await copyInto(to, dataDir, base, request);
  } catch (error) {
    if (request.removesPart === true) {
      await rm(to, { recursive: true, force: true });
      throw error;
    }
    if (await removedEmpty(join(to, FILES))) {
      throw error;
    }
    const advice = `${to} holds a part of it and is no backup: remove it before you try again`;
    throw new BackupError(`${whyNone(to, error)}. ${advice}`, { cause: error });
  }
}

async function copyInto(
  to: string,
  dataDir: string,
  base: Base | undefined,
  request: BackupRequest,
): Promise<BackupOutcome> {
  const staged = await stageLive(dataDir);
  if (staged === undefined) {
    const lock = lockAtRest(dataDir);
    try {
      const copied = await copyAll(dataDir, to, base, () =>
        copyStoreAtRest(dataDir, join(to, FILES, STORE_FILE), request.tokenStore),
      );
      return await finish(to, copied, { live: false, quarantined: [] });
    } finally {
      lock.release();
    }
  }
  let copied: Copied;
  try {
    copied = await Promise.race([copyAll(staged.folder, to, base), staged.lost]);
  } finally {
    // Where the server has taken the files back, that is why the copy failed. The rest needs only the copy.
    await staged.end();
  }
  const { quarantined, storeFault } = staged;
  return finish(to, { storeFault, ...copied }, { live: true, quarantined });
}

function checkSource(dataDir: string): void {
  try {
    requireDataDir(dataDir);
    refuseNode(
      dataDir,
      'a copy of one node is no state of the cluster, whose data are on all nodes and in its checkpoint store',
    );
  } catch (error) {
    throw new BackupError(`${dataDir} cannot be backed up: ${reasonOf(error)}`);
  }
}

async function openBase(folder: string): Promise<Base> {
  const { files } = await readManifest(folder);
  return { folder: join(folder, FILES), files: new Map(files.map((file) => [file.path, file])) };
}

async function prepareTarget(to: string, dataDir: string): Promise<void> {
  const state = await folderState(to);
  if (state === 'used' || state === 'no folder') {
    throw notEmpty(to);
  }
  if (await lieInOneAnother(to, dataDir)) {
    throw new BackupError(`${to} and the data directory ${dataDir} must not lie in one another`);
  }
  if (state === 'absent') {
    await makeFolder(to);
  }
}

/** Makes the folder for the files: of several commands with one target only one succeeds, and owns the target. */
async function takeTarget(to: string): Promise<void> {
  try {
    await mkdir(join(to, FILES), { mode: 0o700 });
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? notEmpty(to) : error;
  }
}

function notEmpty(to: string): BackupError {
  return new BackupError(`${to} is not an empty folder: a backup goes into a new or empty one`);
}

/** Whether a folder had nothing in it, and is gone. */
function removedEmpty(folder: string): Promise<boolean> {
  return rmdir(folder).then(
    () => true,
    () => false,
  );
}

function lockAtRest(dataDir: string): { release(): void } {
  try {
    return lockDataDir(dataDir);
  } catch (error) {
    throw new BackupError(
      `${dataDir} cannot be read at rest (${reasonOf(error)}), and no server answers on it. Try again when the server that starts there is ready, or when the program that has the folder open has ended; or start kithdb serve on it, which takes the folder over`,
    );
  }
}

interface Copied {
  readonly files: readonly BackupFile[];
  readonly linked: readonly BackupFile[];
  /** Why the store of authentication is not in the backup, where it is damaged. */
  readonly storeFault?: string | undefined;
}

/** Copies the files below a folder into the target; the store of authentication by itself where it is given a way. */
async function copyAll(
  source: string,
  to: string,
  base: Base | undefined,
  copyStore?: () => Promise<boolean>,
): Promise<Copied> {
  const target = join(to, FILES);
  const listed = await listDataFiles(source);
  const paths = copyStore === undefined ? listed : listed.filter((path) => !AUTH_FILES.includes(path));
  await makeFolders(target, paths);
  const files: BackupFile[] = [];
  const linked: BackupFile[] = [];
  for (const path of paths) {
    const file = { path, ...(await digestOf(join(source, path))) };
    if (base !== undefined && (await linkToBase(base, file, join(target, path)))) {
      linked.push(file);
    } else {
      await copyVerified(join(source, path), join(target, path), file);
    }
    files.push(file);
  }
  // A damaged store must not keep everything else from being saved.
  const stored = await copyStore?.().catch(damageOf);
  if (stored === true) {
    for (const path of AUTH_FILES) files.push({ path, ...(await digestOf(join(target, path))) });
  }
  await syncFolders(
    target,
    files.map(({ path }) => path),
  );
  return { files, linked, ...(typeof stored === 'string' && { storeFault: stored }) };
}

/** Links a file to that of an earlier backup when that still holds the same; false when it must be copied. */
async function linkToBase(base: Base, file: BackupFile, target: string): Promise<boolean> {
  const known = base.files.get(file.path);
  // The store is small and is changed in place when it is opened, so it is copied and never linked.
  if (known === undefined || AUTH_FILES.includes(file.path) || !isSame(known, file)) {
    return false;
  }
  const earlier = join(base.folder, file.path);
  try {
    // A base that has decayed since must not become part of a new backup.
    if (!isSame(await digestOf(earlier), file)) {
      return false;
    }
    await link(earlier, target);
    return true;
  } catch {
    // Another file system, or one without links: the file is copied.
    return false;
  }
}

async function finish(
  to: string,
  { files, linked, storeFault }: Copied,
  { live, quarantined }: Pick<BackupOutcome, 'live'> & Pick<Staged, 'quarantined'>,
): Promise<BackupOutcome> {
  const manifest: Omit<BackupManifest, 'kithdb_backup'> = {
    kithdb_version: productVersion(),
    created_at: `${new Date().toISOString().slice(0, 19)}Z`,
    quarantined,
    files,
  };
  const unsound = await verifyEngineFiles(join(to, FILES), live);
  await writeManifest(to, manifest);
  // A damaged graph is built again after the backup is restored.
  const damaged = unsound
    .filter(({ isDerived, isOfOtherRelease }) => !isDerived && !isOfOtherRelease)
    .map(({ file, what }) => ({ file, what, missing: false }));
  if (storeFault !== undefined) {
    damaged.push({ file: STORE_FILE, what: storeFault, missing: true });
  }
  return {
    to,
    live,
    files: files.length,
    bytes: total(files),
    linked: linked.length,
    linkedBytes: total(linked),
    quarantined,
    damaged,
    unverified: unsound
      .filter(({ isOfOtherRelease }) => isOfOtherRelease)
      .map(({ file, what }) => ({ file, what })),
  };
}

function total(files: readonly BackupFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}
