import type { Logger } from 'pino';
import type { Engine, Trouble } from '../engine/types';

/** Between two looks at what is wrong. */
const LOOK_MS = 2000;
/** The engine tells of so many at most: a trouble that is not among them may only have been left out. */
const MOST_TOLD = 1000;

const SENTENCES: Readonly<Record<Trouble['kind'], string>> = {
  disk_full: 'the disk is full: writes that make the data grow are refused until there is room',
  log: 'no write is taken any more: restart the server',
  quarantine: 'collection is set aside, the others are served',
  collection: 'collection takes no writes any more: restart the server',
  checkpoint: 'a checkpoint cannot be written: the log grows, and with it the next start',
  removal: 'the files of a deleted collection cannot be removed',
};

/**
 * Logs what goes wrong in an engine that goes on all the same, once when it begins and once when it is over, until it is
 * told to stop. What is set aside already has been reported.
 */
export function reportTroubles(engine: Pick<Engine, 'troubles'>, log: Logger, everyMs = LOOK_MS): () => void {
  let known = byPlace(engine.troubles().filter(({ kind }) => kind === 'quarantine'));
  const look = (): void => {
    const told = engine.troubles();
    const now = byPlace(told);
    for (const [place, { kind, ...trouble }] of now) {
      if (!known.has(place)) log.error({ trouble: kind, ...trouble }, SENTENCES[kind]);
    }
    if (told.length < MOST_TOLD) {
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
  look();
  const timer = setInterval(look, everyMs);
  timer.unref();
  return () => {
    clearInterval(timer);
  };
}

/** One of each kind for each collection: the sentence may change from one attempt to the next. */
function byPlace(troubles: readonly Trouble[]): ReadonlyMap<string, Trouble> {
  return new Map(troubles.map((trouble) => [`${trouble.kind} ${trouble.collection ?? ''}`, trouble]));
}
