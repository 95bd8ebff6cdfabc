import { explained } from '../files/explained';
import { isWhole, type BackupOutcome, type BackupRequest } from './backup';
import { BackupError } from './failure';

/** Where backups lie beside one another: a folder, or a bucket. */
export interface BackupPlace {
  /** What lies there under a name that {@link BackupPlace.make} gives. */
  entries(): Promise<readonly BackupEntry[]>;
  /** Makes a backup and verifies it; its name is complete only when it is. */
  make(stamp: string, source: BackupSource): Promise<BackupOutcome>;
  remove(name: string): Promise<void>;
}

/** What is backed up. */
export type BackupSource = Pick<BackupRequest, 'dataDir' | 'tokenStore'>;

/** A backup in its place. */
export interface BackupEntry {
  readonly name: string;
  /** When it was begun, such as `20260701T020000Z`. */
  readonly stamp: string;
  /**
   * `whole`: it verified, and every file is there with its length. `damaged`: some of its data were damaged, or it is.
   * `unfinished`: one that still runs, or was killed.
   */
  readonly state: 'whole' | 'damaged' | 'unfinished';
}

/** A backup that was made, and what happened to the ones beside it. */
export interface Rotation {
  readonly outcome: BackupOutcome;
  /** Names of what was removed. */
  readonly removed: readonly string[];
  /** Whole backups that are there now. */
  readonly whole: number;
}

/** A backup that did not finish is removed after this time: until then it may still run. */
const UNFINISHED_MS = 7 * 24 * 3600 * 1000;

/**
 * Makes a backup in a place, and then removes all whole ones but the newest `keep`. Only a new one that is whole replaces
 * another: after one of damaged data nothing is removed, since an earlier one may have whole what is damaged now. `made` is
 * called with the new one before earlier ones are looked at.
 * @throws BackupError
 */
export async function rotateBackups(
  place: BackupPlace,
  source: BackupSource,
  keep: number,
  made: (outcome: BackupOutcome) => Promise<void> = () => Promise.resolve(),
  now = new Date(),
): Promise<Rotation> {
  const stamp = freeStamp(await place.entries(), now);
  const outcome = await place.make(stamp, source);
  await made(outcome);
  try {
    const entries = await place.entries();
    const expired = isWhole(outcome) ? expiredOf(entries, stamp, keep, now) : [];
    for (const name of expired) {
      await place.remove(name);
    }
    const whole = entries.filter(({ name, state }) => state === 'whole' && !expired.includes(name));
    return { outcome, removed: expired, whole: whole.length };
  } catch (error) {
    throw new BackupError(
      `The backup ${outcome.to} is made; earlier ones could not be looked through or removed: ${explained(error)}`,
      { cause: error },
    );
  }
}

/** Names of the entries that a new, whole backup makes superfluous. */
export function expiredOf(
  entries: readonly BackupEntry[],
  stamp: string,
  keep: number,
  now: Date,
): readonly string[] {
  const whole = entries.filter(({ state }) => state === 'whole').sort((a, b) => (a.stamp < b.stamp ? 1 : -1));
  const kept = whole.slice(0, keep);
  const oldest = kept.length < keep ? undefined : kept.at(-1)?.stamp;
  const earliest = stampOf(new Date(now.getTime() - UNFINISHED_MS));
  return entries
    .filter((entry) => {
      switch (entry.state) {
        case 'whole':
          // The new one stays, also where a clock that was set back gives it an earlier name than others.
          return !kept.includes(entry) && entry.stamp !== stamp;
        case 'damaged':
          return oldest !== undefined && entry.stamp < oldest;
        case 'unfinished':
          return entry.stamp < earliest;
      }
    })
    .map(({ name }) => name);
}

/** The name for a backup of this moment: a later one where another has begun in the same second. */
function freeStamp(entries: readonly BackupEntry[], now: Date): string {
  const taken = new Set(entries.map(({ stamp }) => stamp));
  let time = now.getTime();
  while (taken.has(stampOf(new Date(time)))) time += 1000;
  return stampOf(new Date(time));
}

/** A time as the name of a backup: names sort as times do. */
export function stampOf(time: Date): string {
  return `${time.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
}

const NAME = /^(\d{8}T\d{6}Z)(\.damaged|\.unfinished|\.removing)?$/;

/** What a name says of a backup; undefined for a name of anything else. */
export function readName(
  name: string,
): { readonly stamp: string; readonly suffix: string | undefined } | undefined {
  const [, stamp, suffix] = NAME.exec(name) ?? [];
  return stamp === undefined ? undefined : { stamp, suffix };
}
