import { answerAhead, run } from './cli/run';
import { environmentOfProcess } from './config';

export { isPathFlag } from './config';

/** Runs `kithdb` with its arguments; the process ends with the exit code, or serves until a signal. */
export async function main(argv: readonly string[]): Promise<void> {
  const { stdin, stdout, stderr } = process;
  let serves = false;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // Neither a reader that has gone nor a full disk is a reason to stop serving.
    if (serves) return;
    // The reader has closed the pipe, as in kithdb export notes | head.
    if (error.code !== 'EPIPE') throw error;
    process.exit(1);
  });
  const exitCode = await run(argv, { env: environmentOfProcess(), stdin, stdout, stderr });
  if (exitCode === undefined) {
    serves = true;
  } else {
    process.exitCode = exitCode;
  }
}

/**
 * Answers arguments that name nothing to carry out, and refuses wrong ones.
 *
 * @returns the exit code; undefined for what {@link main} would carry out, such as a server
 */
export function answered(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): number | undefined {
  const { stdin, stdout, stderr } = process;
  return answerAhead(argv, { env, stdin, stdout, stderr });
}
