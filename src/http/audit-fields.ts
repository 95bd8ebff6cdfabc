import type { ServerResponse } from 'node:http';

/** What a line of the audit stream says beside who, when, from where and the outcome: names and ids, never a secret. */
export type AuditFields = Readonly<Record<string, unknown>>;

/** How an action ended. */
export type AuditOutcome = 'done' | 'refused' | 'failed' | 'aborted';

/** Characters of a name that a line repeats. */
const MAX_CHARACTERS = 255;

const noted = new WeakMap<ServerResponse, AuditFields>();

/** Adds fields to the line of a request, where it has one. */
export function noteForAudit(response: ServerResponse, fields: AuditFields): void {
  noted.set(response, { ...noted.get(response), ...fields });
}

/** What was noted of a request. */
export function notedForAudit(response: ServerResponse): AuditFields | undefined {
  return noted.get(response);
}

/** The named fields of a value that are strings. The value may be anything. */
export function textsOf(value: unknown, names: readonly string[]): AuditFields {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    names
      .map((name) => [name, (value as Record<string, unknown>)[name]] as const)
      .filter((entry): entry is readonly [string, string] => typeof entry[1] === 'string')
      .map(([name, text]) => [name, text.slice(0, MAX_CHARACTERS)]),
  );
}
