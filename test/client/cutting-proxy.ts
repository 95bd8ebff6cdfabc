import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a proxy does with a request in place of giving the answer. */
export interface Accident {
  /** Whether the server gets the request, and answers it to the proxy. */
  readonly arrives: boolean;
  /** A status that the client gets; its connection is cut when absent. */
  readonly status?: number;
  /** What happens between this request and the next try of it. */
  readonly meanwhile?: () => Promise<unknown>;
}

/** A request as it came through. */
export interface Passed {
  readonly method: string;
  readonly path: string;
  readonly key: string | undefined;
}

/** A proxy in front of a server, which loses answers. */
export class CuttingProxy {
  readonly passed: Passed[] = [];
  /** What happens to the next requests that have a key, one each; undefined for one that passes, as all others do. */
  readonly accidents: (Accident | undefined)[] = [];
  private readonly server: Server;

  constructor(private readonly upstream: string) {
    this.server = createServer((incoming, response) => {
      this.serve(incoming, response).catch(() => response.destroy());
    });
  }

  async listen(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '' } = incoming;
    const key = incoming.headers['idempotency-key'];
    this.passed.push({ method, path, key: typeof key === 'string' ? key : undefined });
    const body = await bytesOf(incoming);
    const accident = key === undefined ? undefined : this.accidents.shift();
    if (accident?.arrives === false) {
      await this.fail(accident, response);
      return;
    }
    const outgoing = request(this.upstream + path, { method, headers: incoming.headers });
    outgoing.end(body);
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    const bytes = await bytesOf(answer);
    if (accident === undefined) response.writeHead(answer.statusCode ?? 0, answer.headers).end(bytes);
    else await this.fail(accident, response);
  }

  private async fail({ status, meanwhile }: Accident, response: ServerResponse): Promise<void> {
    await meanwhile?.();
    if (status === undefined) response.destroy();
    else response.writeHead(status, { 'retry-after': '0' }).end('{"status":{"error":"of the proxy"}}');
  }
}

async function bytesOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
