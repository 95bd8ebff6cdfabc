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

/**
 * The log of the process. As JSON it is written in the background, since a line for each request would otherwise
 * stop the event loop for a system call; for people it is written at once.
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
  const destination = pino.destination({ dest: LOG_FD, sync: false });
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
