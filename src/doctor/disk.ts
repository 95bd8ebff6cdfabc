import { constants } from 'node:fs';
import { access, open, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { whyUnusable } from '../operations/data-dir';
import type { Config } from '../config';
import { explained, reasonOf } from '../files/explained';
import { bytesText, type Finding } from './finding';

/** Writes that are timed. */
const SYNCS = 64;
const WRITE_BYTES = 4096;
/** No longer than this, however slow the disk is. */
const MEASURED_MS = 2000;
/** From here on writers wait long: a disk that turns, or a network. */
const SLOW_MS = 10;
/** A sync that takes less than this cannot have reached any disk. */
const UNLIKELY_MS = 0.02;
/** Room below which growth ends soon. */
const LITTLE_ROOM = 1024 * 1024 * 1024;

/** The data directory and the disk under it. */
export async function checkDisk({
  dataDir,
  allowFilesystem,
}: Pick<Config, 'dataDir' | 'allowFilesystem'>): Promise<readonly Finding[]> {
  const folder = await nearestFolder(dataDir);
  const findings = [await checkFolder(dataDir, folder), await checkFileSystem(dataDir, allowFilesystem)];
  if (
    folder !== undefined &&
    findings.every(({ check, state }) => check !== 'data-directory' || state !== 'problem')
  ) {
    findings.push(await checkRoom(folder), await checkSync(folder));
  }
  return findings;
}

/** The directory itself, or the nearest folder above it that exists. */
async function nearestFolder(path: string): Promise<string | undefined> {
  for (let folder = path; ; folder = dirname(folder)) {
    const found = await stat(folder).catch(() => undefined);
    if (found?.isDirectory() === true) return folder;
    if (found !== undefined || dirname(folder) === folder) return undefined;
  }
}

async function checkFolder(dataDir: string, folder: string | undefined): Promise<Finding> {
  const check = 'data-directory';
  if (folder === undefined) {
    return {
      check,
      state: 'problem',
      what: `${dataDir} cannot be made: something that is no folder is in the way`,
      advice: 'name another one with --data-dir',
    };
  }
  const unusable = await whyUnusable(dataDir).catch(explained);
  if (unusable !== undefined) {
    return { check, state: 'problem', what: unusable };
  }
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    return {
      check,
      state: 'problem',
      what: explained(error),
      advice: 'run the command as the user of the server, or give that user the folder',
    };
  }
  if (folder !== dataDir) {
    return { check, state: 'ok', what: `${dataDir} does not exist yet, and a first start can make it` };
  }
  const rights = (await stat(dataDir)).mode & 0o777;
  return process.platform !== 'win32' && (rights & 0o077) !== 0
    ? {
        check,
        state: 'advice',
        what: `${dataDir} is open to other users of this machine (mode ${rights.toString(8)})`,
        advice: `chmod 700 ${JSON.stringify(dataDir)}: whoever can open it is its owner`,
      }
    : { check, state: 'ok', what: `${dataDir} belongs to this user alone` };
}

async function checkFileSystem(dataDir: string, allowed: readonly string[]): Promise<Finding> {
  const check = 'file-system';
  const { fileSystemOf } = await import('../engine/surroundings.js');
  try {
    const { name, decision, reason } = fileSystemOf(dataDir, allowed);
    switch (decision) {
      case 'refuse':
        return { check, state: 'problem', what: reason };
      case 'warn':
        return { check, state: 'advice', what: reason, advice: 'put the folder on a disk of this machine' };
      default:
        return { check, state: 'ok', what: name === '' ? 'nothing is known against it' : name };
    }
  } catch (error) {
    return { check, state: 'unknown', what: reasonOf(error).split('\n')[0] ?? '' };
  }
}

async function checkRoom(folder: string): Promise<Finding> {
  const { bavail, bsize, blocks } = await statfs(folder);
  const free = bavail * bsize;
  const what = `${bytesText(free)} of ${bytesText(blocks * bsize)} are free`;
  return free < LITTLE_ROOM
    ? {
        check: 'room',
        state: 'advice',
        what,
        advice: 'make room: writes that make the data grow are refused before the disk is full',
      }
    : { check: 'room', state: 'ok', what };
}

/** How long a write takes to reach the disk: every write that is answered has been synced, and writers share syncs. */
async function checkSync(folder: string): Promise<Finding> {
  const check = 'sync';
  const path = join(folder, `kithdb-doctor-${process.pid}.tmp`);
  let times: readonly number[];
  try {
    times = await measureSyncs(path);
  } catch (error) {
    return { check, state: 'problem', what: explained(error), advice: 'make room, or name another folder' };
  } finally {
    await rm(path, { force: true });
  }
  return judgeSyncs(times);
}

/** The times of syncs in milliseconds, each after 4 KiB that were appended. */
async function measureSyncs(path: string): Promise<readonly number[]> {
  const times: number[] = [];
  const file = await open(path, 'wx', 0o600);
  try {
    const block = Buffer.alloc(WRITE_BYTES, 'k');
    const until = performance.now() + MEASURED_MS;
    while (times.length < SYNCS && performance.now() < until) {
      await file.write(block);
      const started = performance.now();
      await file.datasync();
      times.push(performance.now() - started);
    }
  } finally {
    await file.close();
  }
  return times;
}

/** What the times of syncs say of a disk. */
export function judgeSyncs(times: readonly number[]): Finding {
  const check = 'sync';
  const sorted = [...times].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const worst = sorted.at(-1) ?? 0;
  const what = `a sync of 4 KiB takes ${median.toFixed(2)} ms (the slowest of ${sorted.length} took ${worst.toFixed(2)} ms)`;
  if (median > SLOW_MS) {
    return {
      check,
      state: 'advice',
      what,
      advice:
        'use a disk without moving parts on this machine, or send more points in each request: each waits for a sync',
    };
  }
  return median < UNLIKELY_MS
    ? {
        check,
        state: 'advice',
        what,
        advice:
          'no disk is that fast: this is memory, or a layer that does not pass syncs on, and a power cut may take what was acknowledged',
      }
    : { check, state: 'ok', what };
}
