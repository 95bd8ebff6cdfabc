import type { AuthService } from '../auth';
import type { Engine } from '../engine/types';
import { openControl } from '../operations/control';
import type { CleanUp } from '../process/clean-up';
import type { Start } from './start';

/** Opens the socket for commands on this machine. The server works without it. */
export async function openControlSocket(
  { config, log, lifecycle, lastBackup, audit }: Start,
  engine: Engine,
  store: AuthService,
  cleanUp: CleanUp,
): Promise<void> {
  const staging = {
    stage: () => engine.stage(),
    unstage: () => engine.unstage(),
    copyStore: (path: string) => store.copyStore(path),
    quarantined: async () => {
      await engine.refresh(0);
      return engine.status().faults.map(({ name }) => name);
    },
  };
  try {
    const resetPassword = (password: string) => store.resetPassword(password);
    const rotateSecret = async (): Promise<boolean> => {
      if (config.jwtSecret !== undefined) return false;
      await store.rotateSecret();
      return true;
    };
    const createAdmin = (password: string) => store.createAdmin(password);
    const readiness = () => lifecycle.readiness;
    const noteBackup = () => lastBackup.note();
    const services = {
      ...{ staging, readiness, createAdmin, resetPassword, rotateSecret, noteBackup, audit },
      tokens: store,
    };
    const control = await openControl(config.dataDir, services, log);
    cleanUp.add('control socket', () => control.close());
  } catch (error) {
    log.warn(
      { err: error },
      'no socket for commands: kithdb backup, kithdb token, and kithdb admin create, reset-password and rotate-secret need the server to be stopped',
    );
  }
}
