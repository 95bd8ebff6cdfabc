/** The figures of the last minutes, kept in memory while the console is open. */
import { signal } from '@preact/signals';
import { RequestError, sendRaw, failureOf, noteRefusal } from '../service/request';
import { lookBetween, type Look, type Reading } from './look';
import { Figures } from './prometheus';

/** At the pace of {@link LOOK_MS}, five minutes. */
const MAX_LOOKS = 150;
export const LOOK_MS = 2000;

export const looks = signal<readonly Look[]>([]);

let last: Reading | undefined;

/** Reads the metrics once, and adds what happened since the time before. */
export async function look(signalOfAbort: AbortSignal): Promise<Figures> {
  const answer = await sendRaw('GET', '/metrics', undefined, { signal: signalOfAbort });
  if (answer.status !== 200) {
    noteRefusal(answer.status, undefined);
    throw answer.status === 404 ? new RequestError('There are no metrics here', 404) : failureOf(answer);
  }
  const now = { at: Date.now() / 1000, figures: new Figures(answer.text) };
  if (last !== undefined) looks.value = [...looks.value, lookBetween(last, now)].slice(-MAX_LOOKS);
  last = now;
  return now.figures;
}
