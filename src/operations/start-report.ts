import type { Logger } from 'pino';
import type { Engine } from '../engine/types';
import { productVersion } from '../system/version';

/** A start that is complete. */
export interface FinishedStart {
  readonly url: string;
  /** Milliseconds. */
  readonly tookMs: number;
  readonly log: Logger;
  readonly print: (line: string) => void;
  /** Whether authentication lets nobody in (C3.8). */
  readonly isClosed: boolean;
}

/**
 * Prints the line that says that the server is ready, or closed, and logs an error for each damage of the log and each collection
 * that could not be opened (C10.2).
 */
export function reportStart(
  engine: Pick<Engine, 'status'>,
  { url, tookMs, log, print, isClosed }: FinishedStart,
): void {
  const { collections, points, quarantined, faults, logDamages } = engine.status();
  for (const { file, what } of logDamages) {
    log.error({ file, what }, 'the log is damaged: kithdb check says what it means for the data');
  }
  for (const { name, fault } of faults) {
    log.error({ collection: name, fault }, 'collection cannot be opened, the others are served');
  }
  if (quarantined > faults.length) {
    log.error({ more: quarantined - faults.length }, 'more collections cannot be opened');
  }
  if (isClosed) {
    print(
      `kithdb ${productVersion()} listens on ${url}, and is closed: the store of authentication is damaged. kithdb check says what is, and kithdb admin repair mends it`,
    );
    return;
  }
  const served = collections - quarantined;
  print(
    `kithdb ${productVersion()} ready on ${url} in ${Math.round(tookMs)} ms: ${count(served, 'collection')}, ${count(points, 'point')}`,
  );
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
