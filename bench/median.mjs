/**
 * The median of some numbers; of an even count the upper of the two in the middle.
 *
 * @param {number[]} numbers at least one
 */
export function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1];
}
