import { setImmediate as turn } from 'node:timers/promises';
import { runInThisContext } from 'node:vm';

/** Node tells its own process of warnings; that of a test is a copy. */
const own = runInThisContext('process') as NodeJS.Process;

/** The warnings that Node gives while work runs: each would be a line of standard error. */
export async function warningsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const warnings: string[] = [];
  const note = ({ name, message }: Error): void => {
    warnings.push(`${name}: ${message}`);
  };
  own.on('warning', note);
  try {
    await work();
    await turn();
  } finally {
    own.off('warning', note);
  }
  return warnings;
}
