import { readFileSync } from 'node:fs';

const SETTING = '/sys/kernel/mm/transparent_hugepage/enabled';

export type HugePages = 'always' | 'madvise' | 'never' | 'unknown';

/**
 * Whether this machine gives huge pages to the arenas of the engine, which ask for them: a search is a chain of random
 * reads, and with small pages each of them misses the TLB too.
 */
export function hugePages(file: string = SETTING): HugePages {
  try {
    // The setting in force stands in brackets: `always [madvise] never`.
    const found = /\[(always|madvise|never)\]/.exec(readFileSync(file, 'latin1'))?.[1];
    return (found as HugePages | undefined) ?? 'unknown';
  } catch {
    // Not Linux, or a kernel without them.
    return 'unknown';
  }
}
