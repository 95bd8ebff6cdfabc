/** A backup or a restore that cannot be made: its message says why and what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

/** The words of an error, without its stack. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
