import { useState } from 'preact/hooks';
import { isObject, parseExact, pretty, type JsonObject, type JsonValue } from '../service/exact-json';

/** The text of a JSON field, what it stands for, and what is wrong with it. */
export interface JsonText {
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly value: JsonValue | undefined;
  readonly problem: string | undefined;
}

/** State of a JSON field. An empty text is no value and no problem. */
export function useJsonText(initial: unknown): JsonText {
  const [text, setText] = useState(() => (initial === undefined ? '' : pretty(initial)));
  return { text, setText, ...readJson(text) };
}

export function readJson(text: string): { value: JsonValue | undefined; problem: string | undefined } {
  if (text.trim() === '') return { value: undefined, problem: undefined };
  try {
    return { value: parseExact(text), problem: undefined };
  } catch (error) {
    return { value: undefined, problem: `This is no JSON: ${placeOf(error, text)}` };
  }
}

/** Where a text stops to be JSON, in lines and columns. */
function placeOf(error: unknown, text: string): string {
  const message = error instanceof Error ? error.message : String(error);
  const position = /position (\d+)/.exec(message)?.[1];
  const short = message.replace(/ in JSON at position.*$/, '').replace(/, ".*$/s, '');
  if (position === undefined) return short;
  const before = text.slice(0, Number(position)).split('\n');
  return `${short} (line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`;
}

export function objectProblem(value: JsonValue | undefined): string | undefined {
  return value === undefined || isObject(value) ? undefined : 'This must be a JSON object.';
}

export function asJsonObject(value: JsonValue | undefined): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}
