/** Runs the tools of a build. Their output goes to a log, whose end is shown when a tool fails. */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { root } from './tree.mjs';

/** How much of a failed tool's log is shown; the file has the rest. */
const SHOWN_LOG_LINES = 200;

/** A failure that is reported without a stack trace: its message says what to do. */
export class BuildError extends Error {}

/** rustup installs cargo in a folder that is often not in the PATH of a non-login shell. */
const cargoBin = join(homedir(), '.cargo', 'bin');
if (existsSync(cargoBin) && !(process.env.PATH ?? '').split(delimiter).includes(cargoBin)) {
  process.env.PATH = `${process.env.PATH ?? ''}${delimiter}${cargoBin}`;
}

/**
 * Runs a tool with its output in `.build/logs/<name>.log`.
 *
 * @param {string} name what the log is called
 * @param {string} command
 * @param {string[]} args
 * @param {{cwd?: string, env?: NodeJS.ProcessEnv, bare?: boolean, limitMs?: number}} [options] `bare`: with `env` alone, and
 *   not this process' too; `limitMs`: it is killed after so long
 * @returns {Promise<{code: number, log: string}>} exit code (124: killed, 127: not found) and the path of the log
 */
export function run(name, command, args, options = {}) {
  const logDir = join(root, '.build', 'logs');
  mkdirSync(logDir, { recursive: true });
  const log = join(logDir, `${name}.log`);
  const out = openSync(log, 'w');
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: options.cwd ?? root,
      env: options.bare ? options.env : { ...process.env, ...options.env },
      stdio: ['ignore', out, out],
    });
    let isLate = false;
    const kill = () => {
      isLate = true;
      child.kill('SIGKILL');
    };
    const limit = options.limitMs && setTimeout(kill, options.limitMs);
    let isOver = false;
    // A command that is not there gives both events.
    const finish = (code) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(limit);
      closeSync(out);
      resolve({ code: isLate ? 124 : code, log });
    };
    child.once('error', () => finish(127));
    child.once('close', (code, signal) => finish(code ?? (signal ? 1 : 0)));
  });
}

/** As {@link run}, but a failure is a {@link BuildError} that carries the end of the log. */
export async function mustRun(name, command, args, options) {
  const { code, log } = await run(name, command, args, options);
  if (code === 127) throw new BuildError(`${name}: ${command} was not found.`);
  if (code !== 0) throw new BuildError(`${name} failed (exit code ${code}).\n${tail(log)}`);
  return log;
}

/** The last lines of a log, and where the whole of it is. */
export function tail(log) {
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
  const shown = lines.slice(-SHOWN_LOG_LINES).join('\n');
  return lines.length > SHOWN_LOG_LINES ? `${shown}\n(the whole log: ${log})` : shown;
}

/** What a command prints, or null when it cannot be run. */
export function output(command, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: options.cwd ?? root, stdio: ['ignore', 'pipe', 'ignore'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    child.once('error', () => resolve(null));
    child.once('close', (code) => resolve(code === 0 ? text.trim() : null));
  });
}

/** npm as `[command, leading arguments]`: the very npm that runs this script, if one does. */
export function npm() {
  const cli = process.env.npm_execpath;
  if (cli?.endsWith('.js')) return [process.execPath, [cli]];
  return [process.platform === 'win32' ? 'npm.cmd' : 'npm', []];
}

/** Prints a line on stderr: stdout belongs to what is started or tested. */
export function say(line) {
  process.stderr.write(`${line}\n`);
}

/** Runs `work`, and prints a line before it and one with its duration after it. */
export async function announce(what, work) {
  say(`${what} …`);
  const startedAt = performance.now();
  const result = await work();
  say(`${what}: done in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  return result;
}
