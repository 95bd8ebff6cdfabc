/**
 * The package `@kithdb/mcp`: an MCP server (Model Context Protocol) over a database. `kithdb mcp` serves it on standard input
 * and output, and a KithDB server under `/mcp`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { McpOptions, ToolDatabase } from './database';
import { addTools } from './tools';

export type { McpOptions, ToolCall, ToolDatabase, ToolOperation } from './database';

const INSTRUCTIONS =
  'A vector database. list_collections and describe_collection say what there is; query finds the points nearest to a text or a vector.';

function mcpServer(database: ToolDatabase, options: McpOptions): McpServer {
  const server = new McpServer(
    { name: 'kithdb', title: 'KithDB', version: options.version },
    { instructions: INSTRUCTIONS },
  );
  addTools(server, database, options);
  return server;
}

/** Serves one client on standard input and output; resolves when it has closed its end. */
export async function serveStdio(database: ToolDatabase, options: McpOptions): Promise<void> {
  const server = mcpServer(database, options);
  const { stdin } = process;
  const ended = new Promise<void>((resolve) => {
    server.server.onclose = resolve;
    stdin.once('end', resolve);
    stdin.once('close', resolve);
  });
  await server.connect(new StdioServerTransport());
  await ended;
  await server.close();
}

/**
 * Answers one request of streamable HTTP. There are no sessions: a server is made for each request, so that nothing is kept
 * for a client that does not come back.
 */
export async function answerHttp(
  database: ToolDatabase,
  options: McpOptions,
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
): Promise<void> {
  const server = mcpServer(database, options);
  // Without a generator of session ids the transport has no sessions.
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.once('close', () => {
    void server.close();
  });
  // The class has `undefined` where the interface leaves a property out.
  await server.connect(transport);
  await transport.handleRequest(request, response, body);
}
