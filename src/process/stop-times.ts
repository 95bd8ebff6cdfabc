/**
 * How the time of a stop is spent (C11.3). Orchestrators end a process by force after 10 to 30 s, so whatever is dirty,
 * a stop takes at most {@link EXIT_MS}: the log has everything that was acknowledged.
 */

/** From the signal to the end of requests that finish by themselves. */
export const GRACE_MS = 7000;
/** Then those that were given up are answered. */
export const ANSWER_MS = 800;
/** From the signal to the end of the last checkpoint. */
export const CHECKPOINTED_MS = 9000;
/** From the signal to an exit that waits for nothing any more. */
export const EXIT_MS = 9800;
/** A stop that is late still syncs the log and writes the list of collections. */
export const LEAST_CLOSE_MS = 500;
