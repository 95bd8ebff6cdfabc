/** Target recalls (C14) as a slider has them, and recalls as people read them. */

/** From 0.5 to 0.999: closer to each other where a little more costs much. */
const TARGETS = [
  0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.995, 0.999,
];

/** The places of the slider; the first is none. */
export const TARGET_PLACES: readonly (number | undefined)[] = [undefined, ...TARGETS];

/** The place of a target; a text, since forms hold texts. An empty one is none. */
export function placeOf(target: string): number {
  if (target === '') return 0;
  const nearest = TARGETS.reduce((best, of) =>
    Math.abs(of - Number(target)) < Math.abs(best - Number(target)) ? of : best,
  );
  return TARGETS.indexOf(nearest) + 1;
}

/** The target at a place of the slider, as a text. */
export function targetAt(place: number): string {
  return String(TARGET_PLACES[place] ?? '');
}

/** A recall in percent: with as many digits as it takes to tell it from 100 %. */
export function percent(recall: number): string {
  const value = recall * 100;
  const digits = value > 99.9 && value < 100 ? 2 : 1;
  return `${value.toLocaleString('en-US', { maximumFractionDigits: digits })} %`;
}
