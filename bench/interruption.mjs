/** Ending a benchmark that is interrupted as one that has come to its end: with nothing left behind. */

/** The signals that end a benchmark, and what a shell calls its end then. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 };

/**
 * Does the work, until it is done or a signal comes, and cleans up in either case. After a signal the process ends.
 *
 * @param {() => Promise<void>} work
 * @param {() => Promise<void>} cleanUp
 */
export async function untilInterrupted(work, cleanUp) {
  let exitCode;
  const interrupted = new Promise((resolve) => {
    for (const [signal, code] of Object.entries(EXIT_CODES)) {
      process.on(signal, () => {
        exitCode ??= code;
        resolve();
      });
    }
  });
  const working = work();
  // What fails because of the interruption nobody hears of.
  working.catch(() => undefined);
  try {
    await Promise.race([working, interrupted]);
  } finally {
    await cleanUp();
  }
  if (exitCode !== undefined) process.exit(exitCode);
}
