import type { Logger } from 'pino';
import type { Engine } from '../engine/types';

/** Between two looks at what the scrub has found. */
const LOOK_MS = 5000;

/**
 * Logs what the start of the engine found at once, then every finding of its scrub, and every pass that came to its end,
 * until it is told to stop.
 */
export function reportScrub(engine: Pick<Engine, 'scrub'>, log: Logger, everyMs = LOOK_MS): () => void {
  let reported = 0;
  let passes = engine.scrub().passes;
  const look = (): void => {
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
  look();
  const timer = setInterval(look, everyMs);
  timer.unref();
  return () => {
    clearInterval(timer);
  };
}
