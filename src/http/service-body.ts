import { isJson } from './content';
import { badRequest, bodyTooLarge, unsupportedBody, type Failure } from './errors';
import type { ServiceCall } from './service-route';

/** Reads the whole JSON body of a request to a service, of at most `maxBytes`. */
export async function readJson(
  { request, wantBody }: Pick<ServiceCall, 'request' | 'wantBody'>,
  maxBytes: number,
): Promise<{ readonly value: unknown } | { readonly failure: Failure }> {
  if (!isJson(request.headers['content-type'])) {
    return {
      failure: unsupportedBody('Unsupported content type: the body must be application/json'),
    };
  }
  wantBody();
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request.iterator({ destroyOnReturn: false })) {
    pieces.push(piece as Buffer);
    bytes += (piece as Buffer).length;
    if (bytes > maxBytes) return { failure: bodyTooLarge(maxBytes) };
  }
  try {
    return { value: JSON.parse(Buffer.concat(pieces).toString()) };
  } catch {
    return { failure: badRequest('Body is not valid JSON') };
  }
}
