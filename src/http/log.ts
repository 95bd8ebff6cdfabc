import { writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { isatty } from 'node:tty';
import pino, { type Level, type Logger, type LoggerOptions } from 'pino';
import type pinoPretty from 'pino-pretty';
import { LineWriter } from './line-writer';

/** What a logger is made from. */
export interface LogSettings {
  readonly logLevel: string;
  readonly logFormat: 'pretty' | 'json';
}

/** A logger and the way to empty its buffer, which a process does before it exits. */
export interface ProcessLog {
  readonly log: Logger;
  /** Takes whole lines of JSON that a logger of another event loop has made; absent where they are logged anew. */
  readonly writeLines?: (lines: string) => void;
  flush(): void;
}

/** Standard error: standard output has only the line of C11.3, which says that the server is ready. */
const LOG_FD = 2;

/** How every logger of the process writes its lines. */
export function logOptions(level: string): LoggerOptions {
  return {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
}

/** Logs lines of JSON anew, one by one, with a logger that writes elsewhere. */
export function logAnew(log: Logger, lines: string): void {
  for (const line of lines.split('\n').filter((text) => text !== '')) {
    const { level, msg, ...fields } = JSON.parse(line) as { readonly level: Level; readonly msg: string };
    // The logger has a time of its own.
    log[level]({ ...fields, time: undefined }, msg);
  }
}

/**
 * The log of the process. JSON lines are buffered and written in the background, since a write for each request would
 * cost the event loop a system call or a wake-up. Pretty lines, which people read, are written at once.
 */
export function openLog({ logLevel, logFormat }: LogSettings): ProcessLog {
  const base = logOptions(logLevel);
  if (logFormat === 'pretty') {
    // Loaded only here: it takes longer to load than the rest of the log.
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    const pretty = require('pino-pretty') as typeof pinoPretty;
    const stream = pretty({
      // By itself it looks at standard output, where the log does not go.
      colorize: isatty(LOG_FD) && process.stderr.hasColors(),
      destination: atOnce(LOG_FD),
      singleLine: true,
      translateTime: 'SYS:HH:MM:ss.l',
    });
    const writeLines = (lines: string): void => {
      stream.write(lines);
    };
    return { log: pino(base, stream), writeLines, flush: () => undefined };
  }
  const writer = new LineWriter(LOG_FD, lossLine);
  return {
    log: pino(base, writer),
    writeLines: (lines) => {
      writer.write(lines);
    },
    flush: () => {
      writer.flush();
    },
  };
}

/** The log line about lost lines. The logger cannot write it: it would pass through the full buffer. */
function lossLine(lines: number): string {
  const line = { level: 'warn', time: new Date().toISOString(), lines };
  return `${JSON.stringify({ ...line, msg: 'the log could not be written: lines of it are lost' })}\n`;
}

/** Writes each chunk before it returns. A chunk that cannot be written is lost, without an error. */
function atOnce(fd: number): Writable {
  return new Writable({
    write: (piece: Buffer, _encoding, done) => {
      try {
        for (let rest = piece; rest.length > 0;) {
          rest = rest.subarray(writeSync(fd, rest));
        }
      } catch {
        // There is no other place to report it.
      }
      done();
    },
  });
}
