/** Sends the rows of a file. Requests are all or nothing, so a refused row is found and left out. */
import { pointsPath, RequestError, send } from '../service/request';
import type { PointRow } from './mapping';

const MAX_POINTS = 500;
const MAX_BYTES = 4 * 1024 * 1024;
/** After so many the file is most likely not what it should be. */
export const MAX_PROBLEMS = 100;
/** How often a server that is busy or starting is asked again. */
const MAX_ATTEMPTS = 8;
const LONGEST_PAUSE_MS = 9000;

export interface Problem {
  readonly line: number;
  readonly message: string;
}

export interface UploadReport {
  readonly stored: (points: number) => void;
  readonly refused: (problem: Problem) => void;
}

interface Placed {
  readonly line: number;
  readonly point: string;
}

/**
 * Sends all rows. @throws Error when it was stopped, when there are too many problems, or for what is no fault of a row.
 */
export async function upload(
  collection: string,
  rows: AsyncIterable<PointRow>,
  report: UploadReport,
  signal: AbortSignal,
): Promise<void> {
  let problems = 0;
  const refuse = (line: number, message: string): void => {
    report.refused({ line, message });
    problems += 1;
    if (problems >= MAX_PROBLEMS) throw new Error(`Stopped after ${MAX_PROBLEMS} rows that were refused`);
  };
  const sendBatch = async (batch: readonly Placed[]): Promise<void> => {
    if (batch.length === 0) return;
    try {
      await sendPoints(collection, batch, signal);
      report.stored(batch.length);
    } catch (error) {
      if (!(error instanceof RequestError) || error.status !== 400) throw error;
      await sendAround(batch, error.message, refuse, sendBatch);
    }
  };
  let batch: Placed[] = [];
  let bytes = 0;
  for await (const row of rows) {
    signal.throwIfAborted();
    if ('problem' in row) {
      refuse(row.line, row.problem);
      continue;
    }
    if (batch.length === MAX_POINTS || bytes + row.point.length > MAX_BYTES) {
      await sendBatch(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(row);
    bytes += row.point.length;
  }
  await sendBatch(batch);
}

/** The place in a refused request, such as `points[3].id`. */
const PLACE = /\bpoints\[(\d+)\]/;

/** Leaves out the row that the server names. Where it names none, halves are sent apart. */
async function sendAround(
  batch: readonly Placed[],
  message: string,
  refuse: (line: number, message: string) => void,
  sendBatch: (batch: readonly Placed[]) => Promise<void>,
): Promise<void> {
  const [only] = batch;
  const named = batch[Number(PLACE.exec(message)?.[1] ?? NaN)];
  if (batch.length === 1 && only !== undefined) {
    refuse(only.line, message.replace(PLACE, 'point'));
  } else if (named === undefined) {
    const middle = Math.ceil(batch.length / 2);
    await sendBatch(batch.slice(0, middle));
    await sendBatch(batch.slice(middle));
  } else {
    refuse(named.line, message.replace(PLACE, 'point'));
    await sendBatch(batch.filter((row) => row !== named));
  }
}

async function sendPoints(collection: string, batch: readonly Placed[], signal: AbortSignal): Promise<void> {
  // A line break cannot be inside of a string of JSON, so no row becomes part of another.
  const bodyText = `{"points":[${batch.map(({ point }) => point).join(',\n')}]}`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await send('PUT', `${pointsPath(collection)}?wait=true`, undefined, { bodyText, signal });
      return;
    } catch (error) {
      const mayPass = error instanceof RequestError && [0, 412, 429, 503].includes(error.status);
      if (!mayPass || attempt === MAX_ATTEMPTS) throw error;
      await pause(Math.min(LONGEST_PAUSE_MS, (error.retryAfterSeconds ?? 2 ** (attempt - 2)) * 1000), signal);
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        reject(new DOMException('stopped', 'AbortError'));
      },
      { once: true },
    );
  });
}
