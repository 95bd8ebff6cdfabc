/**
 * JSON that is the same after reading and writing. A number that JavaScript would write otherwise (`1.0`, an integer beyond
 * 2^53) is kept as its text, so that a payload that is edited, or an id that is sent back, is not changed.
 */

/** A number as its text, made by `JSON.rawJSON`. */
export interface RawNumber {
  readonly rawJSON: string;
}

export type JsonValue = null | boolean | number | string | RawNumber | JsonValue[] | JsonObject;

export interface JsonObject {
  [key: string]: JsonValue;
}

/** What TypeScript's library does not have yet. */
interface SourceJson {
  rawJSON?: (text: string) => RawNumber;
  parse: (
    text: string,
    reviver: (key: string, value: unknown, context?: { readonly source?: string }) => unknown,
  ) => unknown;
}

const json = JSON as unknown as SourceJson;

/** @throws SyntaxError where the text is no JSON. */
export function parseExact(text: string): JsonValue {
  const { rawJSON } = json;
  if (rawJSON === undefined) {
    // A browser from before 2025: numbers are read as JavaScript's.
    return JSON.parse(text) as JsonValue;
  }
  return json.parse(text, (_key, value, context) =>
    typeof value === 'number' && context?.source !== undefined && String(value) !== context.source
      ? rawJSON(context.source)
      : value,
  ) as JsonValue;
}

/**
 * A number that JavaScript may write otherwise: it is long, is small, has an exponent, ends with a zero behind the point, or is
 * a negative zero. What looks like one in a string is found too.
 */
const MAY_CHANGE = /[\d.]{16}|0\.000000|\d[eE][+-]?\d+\s*(?:[,\]}]|$)|\.\d*0(?!\d)|-0(?![.\d])/;

/** As `parseExact`, and several times faster where no number needs it. */
export function parseExactWhereNeeded(text: string): JsonValue {
  return MAY_CHANGE.test(text) ? parseExact(text) : (JSON.parse(text) as JsonValue);
}

/**
 * The number of a text that JSON could have, in its form. Where this browser has no such numbers: JavaScript's, or the text
 * itself where it is an integer that JavaScript cannot hold.
 */
export function numberOf(text: string): number | RawNumber | string {
  const value = Number(text);
  if (!Number.isFinite(value)) return text;
  if (String(value) === text) return value;
  return json.rawJSON?.(text) ?? (Number.isSafeInteger(value) || !/^-?\d+$/.test(text) ? value : text);
}

export function isRawNumber(value: unknown): value is RawNumber {
  return typeof value === 'object' && value !== null && 'rawJSON' in value && Object.isFrozen(value);
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/** A value of an object. A key may be called as a member of every object is, such as `constructor`. */
export function valueAt<T>(
  object: Readonly<Record<string, T>> | null | undefined,
  key: string,
): T | undefined {
  return Object.hasOwn(object ?? {}, key) ? object?.[key] : undefined;
}

/** A value as JSON on one line. */
export function compact(value: unknown): string {
  return JSON.stringify(value);
}

/** A list of numbers. With an indent a line break is behind the bracket, and in a string of JSON there is none. */
const NUMBERS = /\[\n\s*(-?\d[^[\]{}"]*?)\s*\]/g;

/** A value as JSON for people. Lists of numbers, such as vectors, are on one line each. */
export function pretty(value: unknown): string {
  return JSON.stringify(value, undefined, 2).replaceAll(
    NUMBERS,
    (_, items: string) => `[${items.replaceAll(/\s+/g, ' ')}]`,
  );
}
