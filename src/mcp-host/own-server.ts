import * as http from 'node:http';
import * as https from 'node:https';
import { httpTarget } from '../client/http-routes';
import { encodeJson, parseJson } from '../client/json';
import type { Envelope } from '../client/transport';
import type { ToolCall, ToolDatabase } from '../mcp/database';

/** Where this process listens. */
export interface OwnAddress {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

/** The headers of a caller that say who it is. */
export interface Credentials {
  readonly authorization?: string | undefined;
  readonly 'api-key'?: string | undefined;
}

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/**
 * The server that this process is, with the credentials of a caller: a call goes through the same listener and the same checks
 * as any other request of the caller, so there is one place that decides what it may do.
 */
export class OwnServer implements ToolDatabase {
  constructor(
    private readonly address: OwnAddress,
    private readonly credentials: Credentials,
  ) {}

  async execute({ operation, collection, body, signal }: ToolCall): Promise<string> {
    const { method, path, hasBody } = httpTarget({ operation, collection });
    const sent = hasBody ? Buffer.from(JSON.stringify(body ?? {})) : undefined;
    const { status, text } = await this.#send(method, path, sent, signal);
    return resultOf(status, text);
  }

  #send(
    method: string,
    path: string,
    body: Buffer | undefined,
    signal: AbortSignal | undefined,
  ): Promise<{ status: number; text: string }> {
    const { host, port, isTls } = this.address;
    const options: https.RequestOptions = {
      host: reachable(host),
      port,
      method,
      path,
      headers: {
        ...this.#headers(),
        ...(body !== undefined && { 'content-type': 'application/json', 'content-length': body.length }),
      },
      ...(signal !== undefined && { signal }),
      // It is the socket of this process, whatever name its certificate has.
      ...(isTls && { rejectUnauthorized: false }),
    };
    return new Promise((resolve, reject) => {
      const request = (isTls ? https : http).request(options, (response) => {
        gathered(response).then((text) => {
          resolve({ status: response.statusCode ?? 0, text });
        }, reject);
      });
      request.on('error', reject);
      request.end(body);
    });
  }

  #headers(): Record<string, string> {
    const { authorization, 'api-key': apiKey } = this.credentials;
    return {
      ...(authorization !== undefined && { authorization }),
      ...(apiKey !== undefined && { 'api-key': apiKey }),
    };
  }
}

/** An address that means every one is reached at this machine's own. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

async function gathered(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES) throw new Error(`the answer has more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length).toString();
}

/** The result of an envelope; integers beyond 2^53 stay exact. */
function resultOf(status: number, text: string): string {
  if (status !== 200) {
    const { status: failed } = JSON.parse(text) as { status?: { error?: string } };
    throw new Error(failed?.error ?? `the server answered ${status}`);
  }
  return encodeJson((parseJson(text) as Envelope).result);
}
