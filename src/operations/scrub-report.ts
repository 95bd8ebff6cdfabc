import type { Logger } from 'pino';
import type { Engine } from '../engine/types';

/** Interval at which the findings of the scrub are read. */
const LOOK_MS = 5000;

/**
 * Logs the damage that the start of the engine found, then every finding of its scrub and every finished pass, until the
 * returned function is called.
 */
export function reportScrub(engine: Pick<Engine, 'scrub'>, log: Logger, everyMs = LOOK_MS): () => void {
  let reported = 0;
  let passes = engine.scrub().passes;
  const readFindings = (): void => {
    const report = engine.scrub();
    for (const { number, ...finding } of report.findings) {
      if (number > reported) {
        log.error(finding, 'a file in the data directory is damaged');
        reported = number;
      }
    }
    if (report.passes > passes) {
      passes = report.passes;
      log.info({ bytes: report.bytes }, 'all data files were read and compared with their checksums');
    }
  };
  readFindings();
  const timer = setInterval(readFindings, everyMs);
  timer.unref();
  return () => {
    clearInterval(timer);
  };
}
