/** Fields of payloads, as the points that are shown have them. */
import { isObject, isRawNumber, valueAt, type JsonObject, type JsonValue } from '../service/exact-json';
import type { CollectionInfo, Point } from '../service/types';

const MAX_COLUMNS = 4;

/** Longer texts are cut in a table. */
const CELL_CHARACTERS = 80;

/** The top-level fields of some points, those that most of them have first. */
export function fieldsOf(points: readonly Point[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { payload } of points) {
    for (const field of Object.keys(payload ?? {})) counts.set(field, (counts.get(field) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a).map(([field]) => field);
}

/** Fields that can be offered: those with an index, and those that were seen. */
export function knownFields(info: CollectionInfo, points: readonly Point[] = []): readonly string[] {
  return [...new Set([...Object.keys(info.payload_schema), ...fieldsOf(points)])];
}

/** The fields that a table shows as columns: those of most points whose values are short, and one long one. */
export function columnsOf(points: readonly Point[]): readonly string[] {
  const { short, long } = byLength(points);
  return [...short.slice(0, long.length === 0 ? MAX_COLUMNS : MAX_COLUMNS - 1), ...long].slice(
    0,
    MAX_COLUMNS,
  );
}

/** The fields that a card shows: a few short ones, and the long ones, which have the most to say. */
export function cardFieldsOf(points: readonly Point[]): readonly string[] {
  const { short, long } = byLength(points);
  return [...short.slice(0, MAX_COLUMNS), ...long.slice(0, 2)];
}

/** Fields that at least half of the points have. */
function byLength(points: readonly Point[]): { readonly short: string[]; readonly long: string[] } {
  const isShort = (field: string): boolean =>
    points.every(({ payload }) => {
      const value = valueAt(payload, field);
      return isScalar(value) && cellText(value).length < CELL_CHARACTERS;
    });
  const isUsual = (field: string): boolean =>
    points.filter(({ payload }) => Object.hasOwn(payload ?? {}, field)).length * 2 >= points.length;
  const fields = fieldsOf(points).filter(isUsual);
  return {
    short: fields.filter(isShort),
    long: fields.filter((field) => !isShort(field)),
  };
}

function isScalar(value: JsonValue | undefined): boolean {
  return typeof value !== 'object' || value === null || isRawNumber(value);
}

/** A value in one line of a table. */
export function cellText(value: JsonValue | undefined): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return value;
  if (isRawNumber(value)) return value.rawJSON;
  if (Array.isArray(value) && value.every(isScalar)) return value.map(cellText).join(', ');
  return JSON.stringify(value);
}

export function isNumeric(points: readonly Point[], field: string): boolean {
  return points.every(({ payload }) => {
    const value = valueAt(payload, field);
    return value === undefined || value === null || typeof value === 'number' || isRawNumber(value);
  });
}

/** A line that stands for a payload where there are no columns. */
export function payloadLine(payload: JsonObject | null | undefined): string {
  if (!isObject(payload ?? undefined)) return '';
  const text = Object.entries(payload ?? {})
    .map(([key, value]) => `${key}: ${cellText(value)}`)
    .join(' · ');
  return text.length > 400 ? `${text.slice(0, 400)} …` : text;
}
