/** Whether every case of the sampled tests runs, as `npm run test:long -- cases` asks for. */
export const runsAll = process.env['ALL_CASES'] !== undefined;

/** Which cases a normal run takes. */
const seed = Number(process.env['CASE_SEED'] ?? 1);

/** Whether the case of this number runs: one in `oneIn`, the same ones for the same seed, unless all run. */
export function isSampled(number: number, oneIn: number): boolean {
  return runsAll || (number + seed) % oneIn === 0;
}

/** The cases that run, one in `oneIn`, in their order. */
export function sampled<T>(cases: readonly T[], oneIn: number): T[] {
  return cases.filter((_, at) => isSampled(at, oneIn));
}
