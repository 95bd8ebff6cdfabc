/** What a figure is, what it must be, and whether it is. */
import { table } from '../index/table.mjs';

/**
 * @typedef {object} Figure
 * @property {string} what
 * @property {number | string | null} measured null where there was nothing to measure
 * @property {string} unit
 * @property {number | string} [must] the least, or for most figures the most, that passes
 * @property {number} [aim]
 * @property {'aim' | 'must' | 'missed' | null} verdict null for a figure without a bound
 */

/**
 * A figure that must not exceed a bound.
 *
 * @param {string} what
 * @param {number | null} measured
 * @param {string} unit
 * @param {{must?: number, aim?: number}} [bounds]
 * @returns {Figure}
 */
export function atMost(what, measured, unit, bounds = {}) {
  return figure(what, measured, unit, bounds, (bound) => measured <= bound);
}

/** A figure that must reach a bound. */
export function atLeast(what, measured, unit, bounds = {}) {
  return figure(what, measured, unit, bounds, (bound) => measured >= bound);
}

/** Something that must be so. */
export function holds(what, isSo) {
  return { what, measured: isSo ? 'yes' : 'no', unit: '', must: 'yes', verdict: isSo ? 'aim' : 'missed' };
}

/** A figure that is shown and has no bound. */
export function shown(what, measured, unit = '') {
  return figure(what, measured, unit, {}, () => true);
}

function figure(what, measured, unit, { must, aim }, reaches) {
  const verdict = verdictOf(measured, must, aim, reaches);
  return { what, measured: rounded(measured), unit, must: rounded(must), aim: rounded(aim), verdict };
}

function rounded(value) {
  return typeof value === 'number' ? Number(value.toPrecision(4)) : value;
}

function verdictOf(measured, must, aim, reaches) {
  if (must === undefined) return null;
  if (measured === null || !reaches(must)) return 'missed';
  return aim !== undefined && reaches(aim) ? 'aim' : 'must';
}

/** Whether each figure with a bound reaches it. */
export function passes(figures) {
  return figures.every(({ verdict }) => verdict !== 'missed');
}

/**
 * The figures of one part of a scenario as a table.
 *
 * @param {Figure[]} figures
 */
export function figureTable(figures) {
  return table(figures, {
    what: ({ what }) => what,
    must: ({ must }) => must,
    aim: ({ aim }) => aim,
    measured: ({ measured }) => measured,
    unit: ({ unit }) => unit,
    '': ({ verdict }) => ({ aim: 'aim', must: 'ok', missed: 'MISSED' })[verdict] ?? '',
  });
}
