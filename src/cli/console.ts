import type { Readable, Writable } from 'node:stream';

/** The environment and the streams of a command; tests give their own. */
export interface Console {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown };
  /** `columns` is the width of a terminal. */
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean };
}

/** A number with its noun, in the plural unless the number is one. */
export function counted(number: number, noun: string, plural = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : plural}`;
}

/** The exit codes of every command. */
export const EXIT = {
  success: 0,
  /** The command was understood and could not be carried out. */
  failure: 1,
  /** Wrong arguments or settings. */
  usage: 2,
  /** It is done, with reservations: damaged data in a backup, rejected rows of an import, advice of the doctor. */
  reservations: 3,
} as const;

/** An exit code. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A failure that its message explains: no stack is shown. */
export class CommandError extends Error {
  override readonly name = 'CommandError';

  constructor(
    message: string,
    readonly exitCode: ExitCode = EXIT.failure,
  ) {
    super(message);
  }
}
