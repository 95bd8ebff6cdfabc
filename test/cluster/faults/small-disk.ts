/** A small file system under a folder of a test, which can be filled up. */
import { execFileSync } from 'node:child_process';
import { closeSync, cpSync, lstatSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PIECE = 256 * 1024;
const BALLAST = 'ballast';

export class SmallDisk {
  private constructor(private readonly folder: string) {}

  /** Puts the files of a folder, which no process uses, into a file system of their own in its place. */
  static under(folder: string, megabytes: number): SmallDisk {
    const kept = mkdtempSync(join(tmpdir(), 'kithdb-kept-'));
    mkdirSync(folder, { recursive: true });
    copyFiles(folder, kept);
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'kithdb-test', folder], {
      stdio: 'pipe',
    });
    copyFiles(kept, folder);
    rmSync(kept, { recursive: true });
    return new SmallDisk(folder);
  }

  /** Leaves no byte free. */
  fill(): void {
    const file = openSync(join(this.folder, BALLAST), 'w');
    try {
      for (let bytes = PIECE; bytes >= 1;) {
        try {
          writeSync(file, Buffer.alloc(bytes));
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
          bytes = Math.floor(bytes / 2);
        }
      }
    } finally {
      closeSync(file);
    }
  }

  clear(): void {
    rmSync(join(this.folder, BALLAST), { force: true });
  }

  /** After the processes that used it have ended. */
  unmount(): void {
    execFileSync('umount', [this.folder], { stdio: 'pipe' });
  }
}

/** Copies a folder without the sockets of a process that has ended. */
function copyFiles(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: (path) => !lstatSync(path).isSocket() });
}
