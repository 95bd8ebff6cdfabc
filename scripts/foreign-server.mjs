/** What servers of other projects need that run as child processes: an end, and a wait until they answer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { BuildError } from './build/process.mjs';

/** Longer than any start takes on a loaded machine. */
const START_TIMEOUT_MS = 120_000;
const POLL_MS = 100;

/**
 * Kills a child, also when this process ends early and would leave it behind.
 *
 * @returns {() => Promise<void>}
 */
export function stopper(child) {
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const exited = new Promise((resolve) => child.once('close', resolve));
  return async () => {
    kill();
    await exited;
    process.off('exit', kill);
  };
}

/** Waits until a server answers; `log` is what it has said, for the error if it never does. */
export async function answering(name, url, child, log) {
  const until = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < until && child.exitCode === null) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return;
    await sleep(POLL_MS);
  }
  throw new BuildError(`${name} did not start:\n${log()}`);
}
