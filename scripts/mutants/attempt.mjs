/** Runs the tests of one mutant: they may fail, or never end. */
import { spawn } from 'node:child_process';

/** More than any test prints before it fails. */
const KEPT_OUTPUT = 4 * 1024 * 1024;

const running = new Set();
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    for (const child of running) end(child);
    process.exit(130);
  });
}

/**
 * Runs a command until it ends, until it prints what `failed` finds, or until its time is over; then it and its
 * children are ended.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{cwd: string, env?: Record<string, string | undefined>, limitSeconds: number, failed?: RegExp}} options
 * @returns {Promise<{passed: boolean, isLate: boolean, end: string, text: string, seconds: number}>} `end`: its code or signal
 */
export function attempt(command, args, { cwd, env, limitSeconds, failed }) {
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
    });
    running.add(child);
    let text = '';
    let isLate = false;
    let hasFailed = false;
    // Seconds in which this process ran: a pause of the whole machine does not count.
    let ticks = 0;
    const limit = setInterval(() => {
      ticks += 1;
      if (ticks < limitSeconds || isLate) return;
      isLate = true;
      end(child);
    }, 1000);
    const read = (chunk) => {
      text = (text + chunk).slice(-KEPT_OUTPUT);
      if (hasFailed || !failed?.test(text)) return;
      hasFailed = true;
      end(child);
    };
    child.stdout.setEncoding('utf8').on('data', read);
    child.stderr.setEncoding('utf8').on('data', read);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearInterval(limit);
      running.delete(child);
      const seconds = (performance.now() - startedAt) / 1000;
      resolve({
        passed: code === 0 && !hasFailed && !isLate,
        isLate,
        end: signal ?? `code ${code}`,
        text,
        seconds,
      });
    });
  });
}

/** Ends a command with all that it started, which has its process group. */
function end(child) {
  try {
    if (process.platform === 'win32') child.kill();
    else process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
