/** A KithDB server as a child process: started on a free port, asked for its address, stopped gracefully. */
import { spawn } from 'node:child_process';

/** Longer than any start takes on a loaded machine. A start that hangs must not block the caller forever. */
const START_TIMEOUT_MS = 120_000;

/**
 * Starts a server and waits for the line that says it is ready (C11.3).
 *
 * @param {string} launcher path of `bin/kithdb.js`
 * @param {string[]} flags
 * @param {Record<string, string>} [env] its settings in the environment; those of this process are not its own
 * @param {string[]} [prefix] a command that becomes the server's: it ends with `exec "$@"`
 * @param {string[]} [node] the Node that runs it, another than this one: behind an emulator, or of another C library
 * @param {string} [cwd] its working folder
 * @returns {Promise<{url: string, pid: number, readyAfterMs: number, stop: () => Promise<number>, kill: () => Promise<number>}>}
 *   `stop` ends it gracefully and resolves with its exit code; `kill` does not ask it
 */
export async function startServer(
  launcher,
  flags,
  env = {},
  prefix = [],
  node = [process.execPath],
  cwd = undefined,
) {
  const startedAt = performance.now();
  const [command, ...args] = [...prefix, ...node, launcher, ...flags];
  const child = spawn(command, args, {
    env: { ...withoutSettings(process.env), ...env },
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise((resolve) => child.once('close', resolve));
  // A caller that ends during the start must not leave a server behind.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('close', () => process.off('exit', kill));
  try {
    const url = await readAddress(child);
    return {
      url,
      pid: child.pid,
      readyAfterMs: performance.now() - startedAt,
      stop: () => {
        child.kill('SIGTERM');
        return exited;
      },
      kill: () => {
        kill();
        return exited;
      },
    };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

/** An environment without what would be a setting of a server. */
function withoutSettings(env) {
  const isSetting = (name) => /^(?:KITHDB_|SERVICE_JWT_SECRET)/.test(name);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isSetting(name)));
}

function readAddress(child) {
  return new Promise((resolve, reject) => {
    let text = '';
    const fail = (why) => {
      clearTimeout(timer);
      reject(new Error(`The server ${why}:\n${text}`));
    };
    const timer = setTimeout(() => fail('was not ready in time'), START_TIMEOUT_MS);
    const read = (chunk) => {
      text += chunk;
      const line = text.split('\n').find((line) => /\bready\b/i.test(line) && /https?:\/\//.test(line));
      if (!line) return;
      clearTimeout(timer);
      // Keep reading both streams: a full pipe would block the server.
      for (const stream of [child.stdout, child.stderr]) stream.off('data', read).resume();
      resolve(/https?:\/\/(\[[0-9a-f:]+\]|[\w.-]+):\d+/i.exec(line)[0]);
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', read);
    child.once('error', (error) => fail(`could not be started (${error.message})`));
    child.once('close', () => fail('ended before it was ready'));
  });
}
