/**
 * The number of a flag; undefined where it was not given.
 *
 * @param {string} flag without its dashes
 * @param {string | undefined} text
 * @param {(number: number) => boolean} isAllowed
 */
export function numberOf(flag, text, isAllowed) {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (text === '' || !isAllowed(number)) throw new Error(`--${flag} ${text}: expected a number, see below`);
  return number;
}
