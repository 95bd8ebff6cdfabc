import type * as qdrant from '@qdrant/js-client-rest' with { 'resolution-mode': 'import' };
import { mustBeDescribed } from '../openapi/description';

export type JsClient = qdrant.QdrantClient;

/** What a query takes besides the collection's name. */
export type Query = NonNullable<Parameters<JsClient['query']>[1]>;

/** The properties of the client's errors that are checked here. */
interface ClientError {
  readonly status: number;
  readonly data: { status: { error: string } };
}

const plainFetch = globalThis.fetch;

/** What the client fetches with: an answer that openapi.yaml does not describe is an error. */
async function describedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await plainFetch(input, init);
  const { status, headers } = response;
  const method = init?.method ?? 'GET';
  const url = new URL(input instanceof Request ? input.url : input);
  const text = await response.clone().text();
  mustBeDescribed({ method, path: url.pathname, status, headers: Object.fromEntries(headers), text });
  return response;
}

/**
 * The unchanged client, each answer of which must be as openapi.yaml describes it. It would warn of a key that is sent
 * without TLS, each time: the server is on this machine. `release` is the package of another release.
 */
export async function connectJsClient(
  url: string,
  apiKey?: string,
  release = '@qdrant/js-client-rest',
): Promise<JsClient> {
  globalThis.fetch = describedFetch;
  // The package declares itself an ES module, and TypeScript refuses a static import of one here.
  const { QdrantClient } = (await import(release)) as typeof qdrant;
  const warn = jest.spyOn(console, 'warn').mockImplementation();
  const client = new QdrantClient({ url, ...(apiKey && { apiKey }), checkCompatibility: false });
  warn.mockRestore();
  return client;
}

/** The code and message with which a call is refused. */
export async function refusal(call: Promise<unknown>): Promise<[number, string]> {
  const { status, data } = await call.then(
    () => {
      throw new Error('the call succeeded');
    },
    (error: unknown) => error as ClientError,
  );
  return [status, data.status.error];
}
