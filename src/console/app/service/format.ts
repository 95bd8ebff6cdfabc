/** Figures and times as people read them. */

const WHOLE = new Intl.NumberFormat('en-US');

/** A dash for what is not said. */
export function count(value: number | null): string {
  return value === null ? '–' : WHOLE.format(value);
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytes(value: number): string {
  let rest = value;
  let unit = 0;
  while (rest >= 1024 && unit < UNITS.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return `${unit === 0 || rest >= 100 ? Math.round(rest) : rest.toFixed(1)} ${UNITS[unit] ?? ''}`;
}

export function milliseconds(value: number): string {
  if (value < 1) return `${Math.round(value * 1000)} µs`;
  return value < 100 ? `${value.toFixed(1)} ms` : `${count(Math.round(value))} ms`;
}

const PARTS: readonly (readonly [number, string])[] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
];

export function duration(seconds: number): string {
  for (const [size, unit] of PARTS) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  }
  return `${Math.max(0, Math.floor(seconds))} s`;
}

export function plural(value: number | null, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

const DATE = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });

export function date(text: string): string {
  return DATE.format(new Date(text));
}
