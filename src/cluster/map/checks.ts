/** What the fields of parsed JSON must be. */
import { isCount, isObject } from '../json';

export type Check = (value: unknown) => boolean;

export const text: Check = (value) => typeof value === 'string';
export const bool: Check = (value) => typeof value === 'boolean';
export const whole: Check = isCount;
export const positive: Check = (value) => whole(value) && value !== 0;

export const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

export const oneOf =
  (...words: readonly string[]): Check =>
  (value) =>
    words.some((word) => word === value);

export const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);

/** A list of a key and a value. */
export const pairOf =
  (key: Check, second: Check): Check =>
  (value) =>
    Array.isArray(value) && value.length === 2 && key(value[0]) && second(value[1]);

export const objectOf =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isObject(value) && Object.entries(fields).every(([name, check]) => check(value[name]));
