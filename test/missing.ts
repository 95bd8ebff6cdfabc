/**
 * What a machine lacks for a test. Such a test is skipped, and its name says why: `npm test` prints both, and takes a
 * skipped test without a reason for a failure.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Why something cannot be tested here; undefined where it can. */
export type Missing = string | undefined;

export const isNoRoot: Missing = process.getuid?.() === 0 ? undefined : 'only root can';
export const isNoLinux: Missing = process.platform === 'linux' ? undefined : 'only Linux has it';
export const isNoPosix: Missing = process.platform === 'win32' ? 'Windows has no such rights' : undefined;

/** What tests use of `it`. */
interface It {
  (name: string, test: jest.ProvidesCallback, timeoutMs?: number): void;
  each: jest.Each;
}

/** `it` where nothing is missing. */
export function itUnless(missing: Missing): It {
  if (missing === undefined) return it;
  const reason = ` (skipped: ${missing})`;
  const each =
    (table: readonly unknown[]) =>
    (name: string, test: (...row: unknown[]) => unknown): void => {
      it.skip.each(table)(name + reason, test);
    };
  const skip = (name: string, test: jest.ProvidesCallback, timeoutMs?: number): void => {
    it.skip(name + reason, test, timeoutMs);
  };
  return Object.assign(skip, { each: each as jest.Each });
}

/** `describe` where nothing is missing. */
export function describeUnless(missing: Missing): (name: string, tests: () => void) => void {
  if (missing === undefined) return describe;
  return (name, tests) => {
    describe.skip(`${name} (skipped: ${missing})`, tests);
  };
}

/** Why no certificate can be made. */
export function whyNoOpenssl(): Missing {
  try {
    execFileSync('openssl', ['version'], { stdio: 'pipe' });
    return undefined;
  } catch {
    return 'there is no openssl';
  }
}

/** Why no tmpfs can be mounted. */
export function whyNoTmpfs(): Missing {
  const path = mkdtempSync(join(tmpdir(), 'kithdb-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'kithdb-test', path], { stdio: 'pipe' });
    execFileSync('umount', [path]);
    return undefined;
  } catch {
    return 'no right to mount a tmpfs';
  } finally {
    rmdirSync(path);
  }
}
