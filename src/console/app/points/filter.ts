/** Filters as the builder holds them, and as the server takes them. */
import { isObject, type JsonObject, type JsonValue } from '../service/exact-json';
import { readJson } from '../parts/json-field';
import { parseId } from '../service/types';
import { listParts } from './comma-list';

/** One line of the builder. */
export interface ConditionDraft {
  readonly key: number;
  readonly clause: 'must' | 'should' | 'must_not';
  readonly operator: string;
  readonly field: string;
  readonly value: string;
}

export interface FilterDraft {
  /** `json` where the text is written by hand. */
  readonly mode: 'lines' | 'json';
  readonly lines: readonly ConditionDraft[];
  readonly text: string;
}

interface Operator {
  readonly value: string;
  readonly label: string;
  /** What the value looks like; undefined where there is none. */
  readonly placeholder?: string;
  /** Without a field. */
  readonly isFieldless?: boolean;
  readonly make: (field: string, value: string) => JsonObject;
}

function match(kind: string): Operator['make'] {
  return (key, value) => ({ key, match: { [kind]: kind === 'value' ? scalar(value) : value } });
}

function matchList(kind: string): Operator['make'] {
  return (key, value) => ({ key, match: { [kind]: listOf(value) } });
}

function range(bound: string): Operator['make'] {
  return (key, value) => ({ key, range: { [bound]: rangeBound(value) } });
}

export const OPERATORS: readonly Operator[] = [
  { value: 'value', label: 'is', placeholder: 'red, 7 or true', make: match('value') },
  { value: 'any', label: 'is one of', placeholder: 'red, green', make: matchList('any') },
  { value: 'except', label: 'is none of', placeholder: 'red, green', make: matchList('except') },
  { value: 'gt', label: 'is above', placeholder: '7 or 2026-01-31T00:00:00Z', make: range('gt') },
  { value: 'gte', label: 'is at least', placeholder: '7 or 2026-01-31T00:00:00Z', make: range('gte') },
  { value: 'lt', label: 'is below', placeholder: '7 or 2026-01-31T00:00:00Z', make: range('lt') },
  { value: 'lte', label: 'is at most', placeholder: '7 or 2026-01-31T00:00:00Z', make: range('lte') },
  { value: 'text', label: 'has all words of', placeholder: 'red shoes', make: match('text') },
  { value: 'text_any', label: 'has any word of', placeholder: 'red shoes', make: match('text_any') },
  { value: 'phrase', label: 'has the phrase', placeholder: 'red shoes', make: match('phrase') },
  { value: 'prefix', label: 'begins with', placeholder: 're', make: match('prefix') },
  { value: 'is_empty', label: 'is absent or empty', make: (key) => ({ is_empty: { key } }) },
  { value: 'is_null', label: 'is null', make: (key) => ({ is_null: { key } }) },
  {
    value: 'values_count',
    label: 'has at least so many values',
    placeholder: '2',
    make: (key, value) => ({ key, values_count: { gte: scalar(value) } }),
  },
  {
    value: 'has_id',
    label: 'id is one of',
    placeholder: '7, doc 1, "a, b"',
    isFieldless: true,
    make: (_, value) => ({ has_id: listParts(value).map((part) => (parseId(part) ?? part) as JsonValue) }),
  },
  {
    value: 'has_vector',
    label: 'has the vector',
    placeholder: 'name of the vector',
    isFieldless: true,
    make: (_, value) => ({ has_vector: value }),
  },
];

export function operatorOf(name: string): Operator {
  const found = OPERATORS.find(({ value }) => value === name) ?? OPERATORS[0];
  if (found === undefined) throw new Error('there is no operator');
  return found;
}

/** A word as JSON has it: numbers, true and false are those unless they are in quotes. */
function scalar(text: string): JsonValue {
  const trimmed = text.trim();
  if (/^(?:"|-?\d|true$|false$)/.test(trimmed)) {
    const { value } = readJson(trimmed);
    if (value !== undefined) return value;
  }
  return text;
}

/** A bound is a number or a date-time. */
function rangeBound(text: string): JsonValue {
  const value = scalar(text);
  return typeof value === 'boolean' ? text : value;
}

function listOf(text: string): JsonValue[] {
  return listParts(text).map(scalar);
}

let nextKey = 0;

export function newCondition(over: Partial<ConditionDraft> = {}): ConditionDraft {
  return { key: nextKey++, clause: 'must', operator: 'value', field: '', value: '', ...over };
}

export const NO_FILTER: FilterDraft = { mode: 'lines', lines: [], text: '' };

/** What a draft stands for: the filter, or none, or why it is no filter. */
export function readFilter({ mode, lines, text }: FilterDraft): {
  readonly filter: JsonObject | undefined;
  readonly problem: string | undefined;
} {
  if (mode === 'lines') return { filter: filterOf(lines), problem: undefined };
  const { value, problem } = readJson(text);
  if (problem !== undefined || value === undefined) return { filter: undefined, problem };
  return isObject(value)
    ? { filter: value, problem: undefined }
    : { filter: undefined, problem: 'A filter is a JSON object.' };
}

/** Lines without a field, or without the value that they need, count as not written yet. */
function filterOf(lines: readonly ConditionDraft[]): JsonObject | undefined {
  const filter: Record<string, JsonValue[]> = {};
  for (const { clause, operator, field, value } of lines) {
    const { isFieldless, placeholder, make } = operatorOf(operator);
    const isWritten = (isFieldless === true || field !== '') && (placeholder === undefined || value !== '');
    if (isWritten) (filter[clause] ??= []).push(make(field, value));
  }
  return Object.keys(filter).length === 0 ? undefined : filter;
}
