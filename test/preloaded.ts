import { execFileSync } from 'node:child_process';
import type { Missing } from './missing';

/** Why a test that needs such a library is skipped. */
export function whyNoLibrary(library: string | undefined): Missing {
  return library === undefined ? 'no C compiler, or no LD_PRELOAD' : undefined;
}

/** Compiles a library for `LD_PRELOAD` from C; undefined without a C compiler or that variable. */
export function preloadedLibrary(source: string, library: string): string | undefined {
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl'], { stdio: 'pipe' });
  } catch {
    return undefined;
  }
  return process.platform === 'linux' ? library : undefined;
}
