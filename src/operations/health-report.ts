import type { Logger } from 'pino';
import type { BackgroundPanics, Engine, HealthIssue } from '../engine/types';

/** Interval at which the engine's health issues are read. */
const INTERVAL_MS = 2000;
/** The engine reports at most this many issues. When it reports exactly this many, an absent issue may have been cut off. */
const MAX_REPORTED = 1000;

const SENTENCES: Readonly<Record<HealthIssue['kind'], string>> = {
  disk_full: 'the disk is full: writes that make the data grow are refused until there is room',
  memory_limit: 'little memory is left: writes that make the data grow are refused until there is more',
  log: 'no write is taken any more: restart the server',
  quarantine: 'collection is set aside, the others are served',
  collection: 'collection takes no writes any more: restart the server',
  checkpoint: 'a checkpoint cannot be written: the log grows, and with it the next start',
  removal: 'the files of a deleted collection cannot be removed',
  background: 'background work fails because of a defect, and is tried again: please report it',
};

/**
 * Logs each panic of background work, and each health issue of a running engine once when it begins and once when it is
 * over, until the function that it returns is called. Collections that are quarantined already are not logged: the start
 * has reported them.
 */
export function reportHealthIssues(
  engine: Pick<Engine, 'healthIssues' | 'panics' | 'refresh'>,
  log: Logger,
  everyMs = INTERVAL_MS,
): () => void {
  const reportPanics = panicReporter(log);
  let known = byPlace(engine.healthIssues().filter(({ kind }) => kind === 'quarantine'));
  const report = (): void => {
    reportPanics(engine.panics());
    const reported = engine.healthIssues();
    const now = byPlace(reported);
    for (const [place, { kind, ...issue }] of now) {
      if (!known.has(place)) log.error({ health_issue: kind, ...issue }, SENTENCES[kind]);
    }
    if (reported.length < MAX_REPORTED) {
      for (const [place, { kind, collection }] of known) {
        if (!now.has(place)) {
          log.info(
            { health_issue: kind, ...(collection !== undefined && { collection }) },
            'this health issue is over',
          );
        }
      }
      known = now;
    } else {
      known = new Map([...known, ...now]);
    }
  };
  report();
  let stopped = false;
  const timer = setInterval(() => {
    engine.refresh().then(
      () => {
        if (!stopped) report();
      },
      (error: unknown) => {
        log.error({ err: error }, 'the state of the engine cannot be read');
      },
    );
  }, everyMs);
  timer.unref();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}

/** Logs every panic of a list that it has not logged before. */
function panicReporter(log: Logger): (panics: BackgroundPanics) => void {
  let logged = 0;
  return ({ events }) => {
    for (const { number, ...event } of events) {
      if (number > logged) {
        log.error(event, 'a defect of the engine: background work failed. Please report it');
        logged = number;
      }
    }
  };
}

/** By kind and collection: the sentence of an issue may change from one attempt to the next. */
function byPlace(issues: readonly HealthIssue[]): ReadonlyMap<string, HealthIssue> {
  return new Map(issues.map((issue) => [`${issue.kind} ${issue.collection ?? ''}`, issue]));
}
