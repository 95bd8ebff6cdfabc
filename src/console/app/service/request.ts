import { compact, parseExact } from './exact-json';
import { authEnabled, credential, endSession, isUnreachable } from './session';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A request that the console shows and sends. */
export interface RequestLine {
  readonly method: Method;
  /** With its query string. */
  readonly path: string;
  readonly body?: unknown;
}

export interface SendOptions {
  readonly signal?: AbortSignal;
  /** Numbers are kept as the server wrote them. */
  readonly exact?: boolean;
  /** The body is text already. */
  readonly bodyText?: string;
  /** Another credential than that of the session, or none. */
  readonly token?: string | null;
}

export interface RawAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly ms: number;
}

/** A failure as the server names it. `status` is 0 where it did not answer. */
export class RequestError extends Error {
  override readonly name = 'RequestError';

  constructor(
    message: string,
    readonly status: number,
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
  }
}

/** The address of the server: that of this page without its last segment. */
export const BASE = new URL('./', window.location.href).href.replace(/[?#].*$/, '').replace(/\/$/, '');

/** Sends a request, and gives the answer whatever its status is. @throws RequestError where there is none. */
export async function sendRaw(
  method: Method,
  path: string,
  body: string | undefined,
  { signal, token }: SendOptions = {},
): Promise<RawAnswer> {
  const startedAt = performance.now();
  const bearer = token === undefined ? credential.value?.token : token;
  const headers: Record<string, string> = {};
  if (typeof bearer === 'string') headers['Authorization'] = `Bearer ${bearer}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  try {
    const response = await fetch(`${BASE}${path}`, {
      method,
      headers,
      credentials: 'omit',
      redirect: 'error',
      cache: 'no-store',
      ...(body !== undefined && { body }),
      ...(signal !== undefined && { signal }),
    });
    const text = await response.text();
    isUnreachable.value = false;
    return { status: response.status, text, headers: response.headers, ms: performance.now() - startedAt };
  } catch (error) {
    if (signal?.aborted === true) throw error;
    isUnreachable.value = true;
    throw new RequestError('The server did not answer', 0);
  }
}

/** The JSON of an answer. @throws RequestError for any status but 2xx. */
export async function send(
  method: Method,
  path: string,
  body?: unknown,
  options: SendOptions = {},
): Promise<unknown> {
  const text = options.bodyText ?? (body === undefined ? undefined : compact(body));
  const answer = await sendRaw(method, path, text, options);
  if (answer.status >= 200 && answer.status < 300) {
    return options.exact === true ? parseExact(answer.text) : JSON.parse(answer.text);
  }
  noteRefusal(answer.status, options.token);
  throw failureOf(answer);
}

/** The `result` of an answer. */
export async function result<T>(
  method: Method,
  path: string,
  body?: unknown,
  options?: SendOptions,
): Promise<T> {
  const { result: value } = (await send(method, path, body, options)) as { result: T };
  return value;
}

/** Finds out whether the server requires credentials. @throws RequestError where it does not say. */
export async function readAuthEnabled(): Promise<void> {
  const answer = await sendRaw('GET', '/collections', undefined, { token: null });
  if (answer.status === 401) authEnabled.value = true;
  // A server that starts checks credentials before it says so.
  else if (answer.status === 200 || answer.status === 412) authEnabled.value = false;
  else throw failureOf(answer);
}

/**
 * A 401 to the credential of the session ends it: it has expired, or was deleted or rotated. Some endpoints answer it while
 * authentication is off, so the server is asked whether it is on.
 */
export function noteRefusal(status: number, token: string | null | undefined): void {
  if (status !== 401 || token !== undefined) return;
  const held = credential.value;
  if (held !== undefined) endSession(held.kind === 'admin' ? 'expired' : 'refused');
  // Where it does not say, what was known counts until the next refusal.
  readAuthEnabled().catch(() => undefined);
}

/** The failure that an answer tells of, in the server's words. */
export function failureOf({ status, text, headers }: RawAnswer): RequestError {
  const retryAfter = Number(headers.get('Retry-After') ?? '');
  return new RequestError(messageOf(text) ?? `Status ${status}`, status, retryAfter || undefined);
}

function messageOf(text: string): string | undefined {
  try {
    const body = JSON.parse(text) as { status?: { error?: string } | string; message?: string };
    return (typeof body.status === 'object' ? body.status.error : undefined) ?? body.message;
  } catch {
    return text === '' ? undefined : text.slice(0, 500);
  }
}

/** A path of literal segments and names, each encoded. */
export function path(...segments: readonly (string | number)[]): string {
  return `/${segments.map((segment) => encodeURIComponent(segment)).join('/')}`;
}

export function pointsPath(collection: string, ...rest: readonly string[]): string {
  return path('collections', collection, 'points', ...rest);
}

/** What can be done about a failure, where the message alone does not say. */
export function adviceFor(error: RequestError): string | undefined {
  const seconds = error.retryAfterSeconds;
  switch (error.status) {
    case 0:
      return 'Check that the server runs and that this address reaches it. The console tries again by itself.';
    case 401:
      return 'Sign in again.';
    case 403:
      return 'Sign in with a credential that has this permission.';
    case 412:
      return 'The server is starting, or the collection is being removed. Try again in a second.';
    case 413:
      return 'Send less at once, or raise the setting max_body_bytes.';
    case 429:
      return seconds === undefined ? 'Try again in a moment.' : `Try again in ${seconds} s.`;
    case 501:
      return 'This server does not have that endpoint in its present dialect.';
    case 503:
      return 'The server is stopping. Try again when it is back.';
    case 507:
      return 'Delete points or collections, or give the server more memory or disk.';
    default:
      return error.status >= 500 ? 'The log of the server has the details.' : undefined;
  }
}
