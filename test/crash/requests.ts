/** What a server answered. */
export interface Answer {
  readonly status: number;
  readonly error: string | undefined;
  readonly result: unknown;
  /** The plan of a search that asked for it (C13). */
  readonly explain: { readonly plan: string; readonly hops: number } | undefined;
}

/** Sends a request, whose body is JSON. */
export async function call(url: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const content =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const response = await fetch(url + path, { method, ...content });
  const { status, result, explain } = (await response.json()) as {
    status: { error?: string };
    result?: unknown;
    explain?: { plan: string; hops: number };
  };
  return { status: response.status, error: status.error, result, explain };
}

/** Sends a request that must succeed; gives its result. */
export async function ok(url: string, method: string, path: string, body?: unknown): Promise<unknown> {
  const answer = await call(url, method, path, body);
  expect([method, path, answer.status, answer.error]).toEqual([method, path, 200, undefined]);
  return answer.result;
}
