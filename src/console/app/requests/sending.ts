/** A request as the page holds it, and how it is sent. */
import { noteRefusal, sendRaw, type Method, type RawAnswer } from '../service/request';
import { credential } from '../service/session';
import { remember } from './history';

export interface Draft {
  readonly method: Method;
  /** As it was typed. */
  readonly path: string;
  readonly body: string;
}

/**
 * The path as it is sent. Browsers cut a path at `#` and drop spaces at its end, and take a backslash for a slash: the request
 * would be about something else.
 */
export function sentPath(typed: string): string {
  return typed.replaceAll(/[#\\\s]/g, (character) => encodeURIComponent(character));
}

/** Sends it with the credential of the session. `body` is its JSON. @throws RequestError where there is no answer. */
export async function sendDraft(draft: Draft, body: string | undefined): Promise<RawAnswer> {
  const by = credential.value;
  const answer = await sendRaw(draft.method, sentPath(draft.path), body);
  remember({ ...draft, status: answer.status, ms: answer.ms }, by);
  if (by === credential.value && !isLogin(draft.path)) noteRefusal(answer.status, undefined);
  return answer;
}

/** A login answers a wrong password with 401, whatever the credential of the session is. */
function isLogin(path: string): boolean {
  return /^\/auth\/admin\/login\/*(?:\?|$)/.test(path);
}
