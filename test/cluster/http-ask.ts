/** Requests over HTTP to the servers of a test, in the dialect of Qdrant. */

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly result: unknown;
  /** The sentence of a refusal. */
  readonly error: string | undefined;
  /** All of the body. */
  readonly body: Readonly<Record<string, unknown>>;
}

export async function askHttp(
  server: { readonly url: string } | undefined,
  method: string,
  path: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answered> {
  const response = await fetch(`${server?.url}${path}`, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as {
    readonly result?: unknown;
    readonly status?: string | { readonly error?: string };
    // Of a refused change of authentication.
    readonly message?: string;
  };
  const { result, status, message } = answer;
  const error = typeof status === 'object' ? status.error : message;
  return { status: response.status, headers: response.headers, result, error, body: answer };
}
