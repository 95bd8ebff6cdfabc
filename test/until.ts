/** Longer than any condition takes to become true, even on a busy machine. */
const LONGEST_WAIT_MS = 100_000;

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Polls until a condition holds; when it does not hold in time, throws an error that shows the `state` of that time. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  everyMs = 5,
  state?: () => unknown,
): Promise<void> {
  const startedAt = performance.now();
  while (!(await condition())) {
    if (performance.now() - startedAt > LONGEST_WAIT_MS) {
      const seen = state === undefined ? '' : `; it is ${JSON.stringify(state())}`;
      throw new Error(
        `It did not come to this in ${LONGEST_WAIT_MS / 1000} s: ${condition.toString()}${seen}`,
      );
    }
    await sleep(everyMs);
  }
}

/** Asks until the answer is the wanted one, as JSON; a question that fails is asked again. */
export async function eventually(
  ask: () => Promise<unknown>,
  wanted: unknown,
  state?: () => unknown,
): Promise<void> {
  await until(
    async () => {
      const answer = await ask().catch(() => undefined);
      return JSON.stringify(answer) === JSON.stringify(wanted);
    },
    20,
    state,
  );
}
