import { spawn } from 'node:child_process';
import { join } from 'node:path';

const launcher = join(__dirname, '..', '..', 'bin', 'kithdb.js');

export const PASSWORD = 'Correct-horse-7-staple';

/** A built server in a process of its own, as a user starts it. */
export interface BuiltServer {
  readonly url: string;
  /** Ends the server gracefully; the exit code. */
  readonly stop: () => Promise<number | null>;
}

/** One with authentication enabled. */
export interface GuardedServer extends BuiltServer {
  /** Makes an access token over HTTP. `permission` is comma-separated, as in C3.10. */
  readonly accessToken: (permission: string) => Promise<string>;
}

/** Starts a server on a free port, with further `flags`; resolves when it is ready. */
export async function startBuiltServer(
  dataDir: string,
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<BuiltServer> {
  const server = spawn(
    process.execPath,
    [launcher, '--port', '0', '--data-dir', dataDir, '--log-level', 'warn', '--log-format', 'json', ...flags],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...env } },
  );
  const exited = new Promise<number | null>((resolve) => server.once('close', resolve));
  const url = await new Promise<string>((resolve, reject) => {
    let text = '';
    server.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const address = /\bready\b.*?(https?:\/\/[\w.-]+:\d+)/is.exec(text);
      if (address) resolve(address[1]!);
    });
    server.once('close', () => {
      reject(new Error(`the server ended before it was ready:\n${text}`));
    });
  });
  return {
    url,
    stop: () => {
      server.kill('SIGTERM');
      return exited;
    },
  };
}

/** Starts a server, creates its admin, logs in and enables authentication, all over HTTP as the README shows. */
export async function startGuardedServer(
  dataDir: string,
  flags: readonly string[] = [],
): Promise<GuardedServer> {
  const server = await startBuiltServer(dataDir, flags);
  const call = async (method: string, path: string, body: object, jwt?: string) => {
    const response = await fetch(server.url + path, {
      method,
      headers: { 'content-type': 'application/json', ...(jwt && { authorization: `Bearer ${jwt}` }) },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { token?: unknown; result?: unknown };
  };
  await call('POST', '/auth/admin', { password: PASSWORD });
  const jwt = String((await call('POST', '/auth/admin/login', { password: PASSWORD })).token);
  await call('PATCH', '/auth/enabled', { enabled: true }, jwt);

  return {
    ...server,
    accessToken: async (permission) =>
      String((await call('POST', '/auth/access_token', { name: permission, permission }, jwt)).token),
  };
}
