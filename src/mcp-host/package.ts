import { createRequire } from 'node:module';
import type * as Mcp from '../mcp';
import { wayToInstall } from '../system/optional-package';

/** What the optional package exports. */
export type McpPackage = Pick<typeof Mcp, 'serveStdio' | 'answerHttp'>;

const PACKAGE = '@kithdb/mcp';

const load = createRequire(__filename);

/**
 * The package with the MCP server: that which is installed beside kithdb, or the sources of a clone.
 * @throws Error with the way to install it.
 */
export async function loadMcp(): Promise<McpPackage> {
  try {
    return load(PACKAGE) as McpPackage;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  try {
    return await import('../mcp/index.js');
  } catch (error) {
    throw isMissing(error)
      ? new Error(`MCP needs the package ${PACKAGE}: ${wayToInstall(PACKAGE)}`, { cause: error })
      : error;
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND';
}
