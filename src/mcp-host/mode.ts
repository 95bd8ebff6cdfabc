/** Whether there is an MCP server under `/mcp`, and whether its tools may change data. */
export const MCP_MODES = ['off', 'read', 'write'] as const;
export type McpMode = (typeof MCP_MODES)[number];
