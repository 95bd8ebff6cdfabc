/** What one check of `kithdb doctor` found. */
export interface Finding {
  /** The name of the check: the same on every machine. */
  readonly check: string;
  /**
   * `ok`; `advice` where a server works, and would work better or be safer otherwise; `problem` where it does not start, or
   * does not keep its promises; `unknown` where this machine does not tell.
   */
  readonly state: 'ok' | 'advice' | 'problem' | 'unknown';
  /** What was found: a sentence without its full stop. */
  readonly what: string;
  /** What to change. */
  readonly advice?: string;
}

/** Reads a small file of the system; undefined where it cannot be read. Tests give their own. */
export type ReadText = (path: string) => string | undefined;

/** A number of bytes for people. */
export function bytesText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  let number = bytes;
  while (number >= 1024 && unit < units.length - 1) {
    number /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? number : number.toFixed(1)} ${units[unit] ?? ''}`;
}
