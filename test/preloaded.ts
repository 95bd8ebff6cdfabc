import { execFileSync } from 'node:child_process';

/** Compiles a library for `LD_PRELOAD` from C; undefined without a C compiler or that variable. */
export function preloadedLibrary(source: string, library: string): string | undefined {
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl'], { stdio: 'pipe' });
  } catch {
    return undefined;
  }
  return process.platform === 'linux' ? library : undefined;
}
