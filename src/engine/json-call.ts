import { bytesOf, type Engine, type EngineRequest } from './types';

/** What is used of an engine. */
export type Executor = Pick<Engine, 'execute' | 'receive'>;

/** The result of a request, with `json` as its body. For what has no numbers beyond 2^53. Rejects with an `EngineError`. */
export async function executeJson(
  engine: Executor,
  request: Omit<EngineRequest, 'body'>,
  json?: object,
): Promise<unknown> {
  const bytes = json === undefined ? undefined : Buffer.from(JSON.stringify(json));
  const body = bytes && engine.receive();
  if (bytes !== undefined) body?.append(bytes, bytes.length);
  return resultIn(bytesOf(await engine.execute({ ...request, body })));
}

/** The result in a success envelope that has no numbers beyond 2^53. */
export function resultIn(envelope: Buffer): unknown {
  return (JSON.parse(envelope.toString()) as { readonly result: unknown }).result;
}
