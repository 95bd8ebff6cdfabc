/** The most event loops that a server may have. */
export const MOST_LOOPS = 64;
