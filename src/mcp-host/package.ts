import { createRequire } from 'node:module';
import type * as Mcp from '../mcp';

/** What the optional package exports. */
export type McpPackage = Pick<typeof Mcp, 'serveStdio' | 'answerHttp'>;

const PACKAGE = '@kithdb/mcp';
/** Nobody has published the package: a name in a registry could be anybody's. */
export const MCP_ADVICE = `MCP needs the package ${PACKAGE}: npm run pack in a clone makes its tarball, and npm install ./kithdb-mcp-VERSION.tgz beside kithdb installs it (with --global where kithdb is installed so)`;

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
    throw isMissing(error) ? new Error(MCP_ADVICE, { cause: error }) : error;
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND';
}
