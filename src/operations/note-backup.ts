import { lockDataDir } from '../engine/offline';
import { explained } from '../files/explained';
import { noteBackupLive } from './control-client';
import { LastBackup } from './last-backup';

/**
 * Notes that a whole backup of a data directory was made: through the server that runs on it, or in the directory at rest.
 * A directory that cannot be written has no server that would show it, so nothing is noted there.
 * @returns why it could not be noted, undefined when it is.
 */
export async function noteBackup(dataDir: string): Promise<string | undefined> {
  try {
    const live = await noteBackupLive(dataDir);
    if (live !== undefined) return live === 'done' ? undefined : live;
    const lock = lockDataDir(dataDir);
    try {
      await new LastBackup(dataDir).note();
    } finally {
      lock.release();
    }
    return undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EROFS') return undefined;
    return explained(error);
  }
}
