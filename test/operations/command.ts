import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { runCommand } from '../cli/run-command';

const LAUNCHER = join(__dirname, '..', '..', 'bin', 'kithdb.js');

/** How a command ended. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the real command in a process of its own. */
export function kithdb(...argv: readonly string[]): Promise<Ended> {
  return run({}, argv);
}

/** Runs a command in this process, as its own process would: for tests that are not about the process itself. */
export function kithdbHere(...argv: readonly string[]): Promise<Ended> {
  return kithdbHereWith({}, ...argv);
}

/** Runs a command in this process with this environment. */
export async function kithdbHereWith(
  env: Readonly<Record<string, string>>,
  ...argv: readonly string[]
): Promise<Ended> {
  const { code = null, ...printed } = await runCommand(argv, env);
  return { code, ...printed };
}

/** The real command with more in its environment. */
export function kithdbWith(env: NodeJS.ProcessEnv, ...argv: readonly string[]): Promise<Ended> {
  return run({}, argv, env);
}

/** Runs the real command as a user without rights; only root can. */
export function kithdbAsNobody(...argv: readonly string[]): Promise<Ended> {
  return run({ uid: 65534, gid: 65534 }, argv);
}

function run(
  user: { readonly uid?: number; readonly gid?: number },
  argv: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [LAUNCHER, ...argv], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...user,
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
