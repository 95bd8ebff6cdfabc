import type * as qdrant from '@qdrant/js-client-rest' with { 'resolution-mode': 'import' };

export type JsClient = qdrant.QdrantClient;

/** What a query takes besides the collection's name. */
export type Query = NonNullable<Parameters<JsClient['query']>[1]>;

/** What the client's errors carry, as far as it is looked at here. */
interface ClientError {
  readonly status: number;
  readonly data: { status: { error: string } };
}

/** The unchanged client. It would warn of a key that is sent without TLS, each time: the server is on this machine. */
export async function connectJsClient(url: string, apiKey?: string): Promise<JsClient> {
  // The package declares itself an ES module, and TypeScript refuses a static import of one here.
  const { QdrantClient } = await import('@qdrant/js-client-rest');
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
