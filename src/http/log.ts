import pino, { type Logger } from 'pino';
import type pinoPretty from 'pino-pretty';

/** What a logger is made from. */
export interface LogSettings {
  readonly logLevel: string;
  readonly logFormat: 'pretty' | 'json';
}

/** A logger and the way to empty its buffer, which a process does before it exits. */
export interface ProcessLog {
  readonly log: Logger;
  flush(): void;
}

/** Standard error: standard output has only the line that says that the server is ready. */
const LOG_FD = 2;

/** Lines are written when so many bytes have gathered, or when the oldest has waited so long. */
const GATHERED_BYTES = 8 * 1024;
const GATHERED_MS = 100;

/**
 * The log of the process. As JSON it is gathered and written in the background, since a line for each request would
 * otherwise cost the event loop a system call or a wake-up; for people it is written at once.
 */
export function openLog({ logLevel, logFormat }: LogSettings): ProcessLog {
  const base = { level: logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (logFormat === 'pretty') {
    // Loaded only here: it takes longer to load than the rest of the log.
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    const pretty = require('pino-pretty') as typeof pinoPretty;
    const stream = pretty({
      destination: LOG_FD,
      sync: true,
      singleLine: true,
      translateTime: 'SYS:HH:MM:ss.l',
    });
    return { log: pino(base, stream), flush: () => undefined };
  }
  const destination = pino.destination({
    dest: LOG_FD,
    sync: false,
    minLength: GATHERED_BYTES,
    periodicFlush: GATHERED_MS,
  });
  return {
    log: pino(base, destination),
    flush: () => {
      try {
        destination.flushSync();
      } catch {
        // The buffer was never opened or its reader has gone: there is nobody left to tell.
      }
    },
  };
}
