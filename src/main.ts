import { run } from './cli/run';
import { environmentOfProcess } from './config';

/** Runs `kithdb` with its arguments; the process ends with the exit code, or serves until a signal. */
export async function main(argv: readonly string[]): Promise<void> {
  const { stdin, stdout, stderr } = process;
  const exitCode = await run(argv, { env: environmentOfProcess(), stdin, stdout, stderr });
  if (exitCode !== undefined) {
    process.exitCode = exitCode;
  }
}
