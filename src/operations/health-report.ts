import type { Logger } from 'pino';
import type { Engine, HealthIssue } from '../engine/types';

/** Interval at which the engine's health issues are read. */
const INTERVAL_MS = 2000;
/** The engine reports at most this many issues. When it reports exactly this many, an absent issue may have been cut off. */
const MAX_REPORTED = 1000;

const SENTENCES: Readonly<Record<HealthIssue['kind'], string>> = {
  disk_full: 'the disk is full: writes that make the data grow are refused until there is room',
  log: 'no write is taken any more: restart the server',
  quarantine: 'collection is set aside, the others are served',
  collection: 'collection takes no writes any more: restart the server',
  checkpoint: 'a checkpoint cannot be written: the log grows, and with it the next start',
  removal: 'the files of a deleted collection cannot be removed',
};

/**
 * Logs each health issue of a running engine once when it begins and once when it is over, until the function that it
 * returns is called. Collections that are quarantined already are not logged: the start has reported them.
 */
export function reportHealthIssues(
  engine: Pick<Engine, 'healthIssues'>,
  log: Logger,
  everyMs = INTERVAL_MS,
): () => void {
  let known = byPlace(engine.healthIssues().filter(({ kind }) => kind === 'quarantine'));
  const report = (): void => {
    const reported = engine.healthIssues();
    const now = byPlace(reported);
    for (const [place, { kind, ...issue }] of now) {
      if (!known.has(place)) log.error({ trouble: kind, ...issue }, SENTENCES[kind]);
    }
    if (reported.length < MAX_REPORTED) {
      for (const [place, { kind, collection }] of known) {
        if (!now.has(place)) {
          log.info(
            { trouble: kind, ...(collection !== undefined && { collection }) },
            'this trouble is over',
          );
        }
      }
      known = now;
    } else {
      known = new Map([...known, ...now]);
    }
  };
  report();
  const timer = setInterval(report, everyMs);
  timer.unref();
  return () => {
    clearInterval(timer);
  };
}

/** By kind and collection: the sentence of an issue may change from one attempt to the next. */
function byPlace(issues: readonly HealthIssue[]): ReadonlyMap<string, HealthIssue> {
  return new Map(issues.map((issue) => [`${issue.kind} ${issue.collection ?? ''}`, issue]));
}
