import type { Config } from '../config';
import { AuditLog } from '../http/audit-log';
import { StartError } from '../http/listen';
import type { CleanUp } from '../process/clean-up';
import { reasonOf } from '../files/explained';

/** @throws StartError when the file cannot be opened: nothing is done without a line about it. */
export function openAuditLog(
  config: Pick<Config, 'auditLog'>,
  cleanUp: CleanUp,
): ((line: object) => void) | undefined {
  if (config.auditLog === undefined) {
    return undefined;
  }
  try {
    const audit = new AuditLog(config.auditLog);
    // Where the process ends before its stop is over.
    process.on('exit', audit.flush);
    cleanUp.add('audit log', async () => {
      await audit.close();
      process.off('exit', audit.flush);
    });
    return audit.write;
  } catch (error) {
    const reason = reasonOf(error);
    throw new StartError(`The audit log cannot be opened: ${reason}`, { cause: error });
  }
}
