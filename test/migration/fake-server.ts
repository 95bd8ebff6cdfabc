import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server on a free port that answers JSON. */
export abstract class FakeServer {
  /** Method, URL and body of every request. */
  readonly requests: string[] = [];
  private readonly server: Server;

  constructor() {
    this.server = createServer((request, response) => {
      void this.read(request).then(([status, body]) => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(body));
      });
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** The status and the body that a request gets. */
  protected abstract answer(request: IncomingMessage, body: string): [status: number, body: unknown];

  private async read(request: IncomingMessage): Promise<[status: number, body: unknown]> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    this.requests.push(`${request.method} ${request.url} ${body}`);
    return this.answer(request, body);
  }
}
