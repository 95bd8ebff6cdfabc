import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDataFile } from './data-files';
import { replaceSynced } from '../files/synced';
import type { Digest } from './copying';
import { BackupError } from './failure';
import { explained } from '../files/explained';

/** Folder of a backup that holds the files, laid out as in a data directory. */
export const FILES = 'data';
/** The manifest, which is written last: a folder without one is no backup. */
export const MANIFEST = 'BACKUP.json';
const FORMAT = 1;

/** A file of a backup; the path is that in a data directory. */
export interface BackupFile extends Digest {
  readonly path: string;
}

/** What a backup consists of. */
export interface BackupManifest {
  readonly kithdb_backup: number;
  /** The release that made it. */
  readonly kithdb_version: string;
  /** RFC 3339, UTC. */
  readonly created_at: string;
  /** Collections that were quarantined: their files are here as they were. */
  readonly quarantined: readonly string[];
  readonly files: readonly BackupFile[];
}

function checksumOf(manifest: BackupManifest): string {
  const { kithdb_backup, kithdb_version, created_at, quarantined, files } = manifest;
  const plain = files.map(({ path, bytes, sha256 }) => ({ path, bytes, sha256 }));
  const canonical = JSON.stringify({ kithdb_backup, kithdb_version, created_at, quarantined, files: plain });
  return createHash('sha256').update(canonical).digest('hex');
}

/** Makes a folder a backup: durably, and all at once. */
export async function writeManifest(
  folder: string,
  parts: Omit<BackupManifest, 'kithdb_backup'>,
): Promise<void> {
  const manifest: BackupManifest = { kithdb_backup: FORMAT, ...parts };
  const text = `${JSON.stringify({ ...manifest, checksum: checksumOf(manifest) }, undefined, 1)}\n`;
  await replaceSynced(join(folder, MANIFEST), text, 'wx');
}

/**
 * The manifest of a backup, checked.
 * @throws BackupError when the folder holds no backup, or one of a later release, or its manifest is damaged.
 */
export async function readManifest(folder: string): Promise<BackupManifest> {
  const path = join(folder, MANIFEST);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT'
      ? new BackupError(`${folder} holds no finished backup: there is no ${MANIFEST} in it`)
      : new BackupError(explained(error));
  }
  return parseManifest(text, path);
}

/**
 * The manifest of its text, checked.
 * @param path names it in errors.
 * @throws BackupError as {@link readManifest} does.
 */
export function parseManifest(text: string, path: string): BackupManifest {
  let manifest: BackupManifest & { readonly checksum?: unknown };
  try {
    const value: unknown = JSON.parse(text);
    manifest = Object(value) as typeof manifest;
  } catch {
    throw new BackupError(`${path} is damaged: it is no JSON`);
  }
  if (typeof manifest.kithdb_backup === 'number' && manifest.kithdb_backup > FORMAT) {
    throw new BackupError(
      `${path} has format ${manifest.kithdb_backup}, and this release reads format ${FORMAT}: use the release that made it (${manifest.kithdb_version}) or a later one`,
    );
  }
  if (!isManifest(manifest) || manifest.checksum !== checksumOf(manifest)) {
    throw new BackupError(`${path} is damaged: it does not have its checksum`);
  }
  return manifest;
}

function isManifest(manifest: BackupManifest): boolean {
  const {
    kithdb_backup: format,
    files,
    quarantined,
  } = manifest as {
    readonly [K in keyof BackupManifest]?: unknown;
  };
  return format === FORMAT && Array.isArray(quarantined) && Array.isArray(files) && areFiles(files);
}

function areFiles(values: readonly unknown[]): boolean {
  const files = values.map((value) => Object(value) as Partial<Record<keyof BackupFile, unknown>>);
  return (
    new Set(files.map(({ path }) => path)).size === files.length &&
    files.every(
      ({ path, bytes, sha256 }) =>
        typeof path === 'string' &&
        isDataFile(path) &&
        Number.isSafeInteger(bytes) &&
        typeof sha256 === 'string' &&
        /^[0-9a-f]{64}$/.test(sha256),
    )
  );
}
