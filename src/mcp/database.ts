/** The operations that the tools need. */
export type ToolOperation = 'list_collections' | 'collection_info' | 'query' | 'count' | 'upsert_points';

/** One operation of a database. */
export interface ToolCall {
  readonly operation: ToolOperation;
  readonly collection?: string;
  /** A JSON value; absent where the operation has no body. */
  readonly body?: unknown;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal?: AbortSignal;
}

/** What the tools work on: a folder, a server, or the server that they are a part of. */
export interface ToolDatabase {
  /** The `result` of the operation as JSON text. Rejects with an error whose message may be shown. */
  execute(call: ToolCall): Promise<string>;
}

/** What an MCP server offers. */
export interface McpOptions {
  /** The version that it says it has. */
  readonly version: string;
  /** Whether there are tools that change data. */
  readonly allowsWrites: boolean;
}
