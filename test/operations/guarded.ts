import { ServerChild, type Launch } from '../crash/server-child';
import { until } from '../until';
import { ServerHere } from './server-here';

export const PASSWORD = 'Correct-horse-7-staple';
const DAMAGED = 'Authentication operation failed: the store of authentication is damaged';

/** A server that may be closed. */
export interface Guarded {
  readonly url: string;
  /** What it printed and logged so far. */
  readonly output: string;
  stop(): Promise<void>;
}

/** Starts a server in this process, and waits until it is ready, or closed. */
export function guarded(dataDir: string, { env }: Pick<Launch, 'env'> = {}): Promise<Guarded> {
  return ServerHere.start(dataDir, env);
}

/** Starts a server in a process of its own, and waits until it is ready, or closed. */
export async function guardedChild(dataDir: string, launch: Launch = {}): Promise<Guarded> {
  const child = new ServerChild(dataDir, launch);
  await until(() => / (?:ready|listens) on \S+/.test(child.output));
  return {
    url: /(?:ready|listens) on ([^\s,]+)/.exec(child.output)![1]!,
    get output() {
      return child.output;
    },
    stop: async () => {
      child.signal('SIGTERM');
      expect(await child.exit).toMatchObject({ code: 0 });
    },
  };
}

export function stopped(server: Guarded): Promise<void> {
  return server.stop();
}

export interface Answer {
  readonly status: number;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as supertest has it: tests know what they asked for
  readonly body: any;
}

export async function call(
  url: string,
  method: string,
  path: string,
  body?: object,
  token?: string,
): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

export async function login(url: string): Promise<string> {
  return (await call(url, 'POST', '/auth/admin/login', { password: PASSWORD })).body.token;
}

/** What {@link enabled} made, which no server serves at the moment. */
export interface Credentials {
  readonly jwt: string;
  readonly live: string;
  readonly revoked: string;
}

/** A data directory with authentication enabled, a token that works and one that was deleted. */
export async function enabled(dataDir: string): Promise<Credentials> {
  const server = await guarded(dataDir, {
    env: { KITHDB_ADMIN_PASSWORD: PASSWORD, KITHDB_AUTH_ENABLED: 'true' },
  });
  const { url } = server;
  const jwt = await login(url);
  const token = async () =>
    (await call(url, 'POST', '/auth/access_token', { name: 'n', permission: 'read' }, jwt)).body;
  const [live, revoked] = [await token(), await token()];
  expect((await call(url, 'DELETE', `/auth/access_token/${revoked.id}`, undefined, jwt)).status).toBe(200);
  await stopped(server);
  return { jwt, live: live.token, revoked: revoked.token };
}

/** That a server answers nobody but probes, whatever the credential. */
export async function expectClosed(url: string, tokens: readonly string[]): Promise<void> {
  for (const token of [undefined, ...tokens]) {
    expect(await call(url, 'GET', '/collections', undefined, token)).toMatchObject({
      status: 500,
      body: { status: { error: DAMAGED } },
    });
    const refused = { status: 500, body: { status: 'error', message: DAMAGED } };
    expect(await call(url, 'GET', '/auth/access_tokens', undefined, token)).toEqual(refused);
    expect(await call(url, 'PATCH', '/auth/enabled', { enabled: false }, token)).toEqual(refused);
    expect(await call(url, 'POST', '/auth/admin', { password: PASSWORD })).toEqual(refused);
    expect(await call(url, 'POST', '/auth/admin/login', { password: PASSWORD })).toEqual(refused);
  }
  expect((await call(url, 'GET', '/livez')).status).toBe(200);
  expect(await call(url, 'GET', '/readyz')).toEqual({ status: 503, body: { status: 'closed' } });
}
