import { spawn } from 'node:child_process';
import { join } from 'node:path';

const LAUNCHER = join(__dirname, '..', '..', 'bin', 'kithdb.js');

/** How a command ended. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the real command in a process of its own. */
export function kithdb(...argv: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [LAUNCHER, ...argv], {
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = { out: '', err: '' };
  child.stdout.on('data', (piece: Buffer) => (ended.out += piece.toString()));
  child.stderr.on('data', (piece: Buffer) => (ended.err += piece.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, ...ended });
    });
  });
}
