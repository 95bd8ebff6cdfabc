/** The most event loops that a server may have. */
export const MAX_LOOPS = 64;
