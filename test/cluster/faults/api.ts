/** Requests to nodes over HTTP. */
import { Agent, request as httpRequest } from 'node:http';

/** An answer, or why there is none. */
export interface Answer {
  /** Undefined where no answer came. */
  readonly status: number | undefined;
  /** The header `KithDB-Position`. */
  readonly token: string | undefined;
  readonly body: unknown;
}

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** Asks a node once. Never rejects. */
export function ask(url: string, { method, path, body, headers, timeoutMs }: Asked): Promise<Answer> {
  const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  return new Promise((resolve) => {
    const none = (): void => {
      resolve({ status: undefined, token: undefined, body: undefined });
    };
    const request = httpRequest(url + path, {
      ...{ method, agent },
      headers: {
        ...headers,
        ...(bytes !== undefined && { 'content-type': 'application/json', 'content-length': bytes.length }),
      },
    });
    const timer = setTimeout(() => request.destroy(), timeoutMs);
    request.once('close', () => {
      clearTimeout(timer);
      none();
    });
    request.on('error', none);
    request.on('response', (response) => {
      const pieces: Buffer[] = [];
      response.on('error', none);
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () => {
        const token = response.headers['kithdb-position'];
        resolve({
          status: response.statusCode,
          token: typeof token === 'string' ? token : undefined,
          body: parsed(Buffer.concat(pieces)),
        });
      });
    });
    request.end(bytes);
  });
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch {
    return bytes.toString();
  }
}
