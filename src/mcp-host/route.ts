import express, { type RequestHandler } from 'express';
import type { HandledRoute } from '../http/route-table';
import { productVersion } from '../system/version';
import type { McpMode } from './mode';
import { OwnServer, type OwnAddress } from './own-server';
import { loadMcp } from './package';

/** The largest body: points of an upsert. */
const BODY_BYTES = 4 * 1024 * 1024;
/** Requests that are under way at a time; each holds a body. */
const MAX_REQUESTS = 32;

const parseBody: RequestHandler = express.json({ limit: BODY_BYTES, strict: true });

/**
 * `POST /mcp`: streamable HTTP, without sessions. Any valid credential may ask; what its tools do is checked as a request of
 * that credential. `own` says where this process listens, once it does.
 */
export function mcpRoutes(mode: McpMode, own: () => OwnAddress | undefined): readonly HandledRoute[] {
  if (mode === 'off') return [];
  let underWay = 0;
  const limited: RequestHandler = (_request, response, next) => {
    if (underWay >= MAX_REQUESTS) {
      response.setHeader('Retry-After', '1');
      answerError(response, 429, `Too many requests in progress: limit ${MAX_REQUESTS}`);
      return;
    }
    underWay += 1;
    response.once('close', () => {
      underWay -= 1;
    });
    next();
  };
  return [
    {
      kind: 'handled',
      method: 'POST',
      path: '/mcp',
      permission: 'any',
      handlers: [limited, parseBody, refuseList, answering(mode === 'write', own)],
      bodyBytes: BODY_BYTES,
    },
  ];
}

/**
 * Refuses a list of messages, which earlier versions of MCP have. The SDK answers a list when each of its calls has an answer,
 * and a call that the same list cancels never has one. A list would also be many calls where one request is counted.
 */
const refuseList: RequestHandler = (request, response, next) => {
  if (Array.isArray(request.body)) answerError(response, 400, 'The body must be one message and no list');
  else next();
};

function answering(allowsWrites: boolean, own: () => OwnAddress | undefined): RequestHandler {
  return async (request, response) => {
    const address = own();
    const mcp = await loadMcp().catch((error: unknown) =>
      error instanceof Error ? error.message : undefined,
    );
    if (mcp === undefined || typeof mcp === 'string') {
      answerError(response, 501, `Not implemented: ${mcp ?? 'the package of MCP cannot be loaded'}`);
    } else if (address === undefined) {
      answerError(response, 503, 'The server is starting');
    } else {
      const { authorization, 'api-key': apiKey } = request.headers;
      const key = typeof apiKey === 'string' ? apiKey : undefined;
      const database = new OwnServer(address, { authorization, 'api-key': key });
      const options = { version: productVersion(), allowsWrites };
      await mcp.answerHttp(database, options, request, response, request.body as unknown);
    }
  };
}

function answerError(response: Parameters<RequestHandler>[1], status: number, error: string): void {
  response.status(status).json({ time: 0, status: { error } });
}
