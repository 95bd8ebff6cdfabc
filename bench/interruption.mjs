/** Cleans up after a benchmark that is interrupted as after one that has finished. */

/** The signals that end a benchmark, with the exit codes of a shell. */
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
  // Errors that the interruption causes are not reported.
  working.catch(() => undefined);
  try {
    await Promise.race([working, interrupted]);
  } finally {
    await cleanUp();
  }
  if (exitCode !== undefined) process.exit(exitCode);
}
