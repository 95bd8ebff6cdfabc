import { encodeJson } from '../client/json';
import type { ByteTransport } from '../client/transport';
import type { Config, VerbFlag } from '../config';
import { loadMcp } from '../mcp-host/package';
import type { ToolDatabase } from '../mcp/database';
import { productVersion } from '../system/version';
import { CommandError, EXIT, type Console, type ExitCode } from './console';
import { URL_FLAG, withService } from './service';
import type { GivenFlags } from './verbs';
import { reasonOf } from '../files/explained';

/** The flags of `kithdb mcp`. */
export const MCP_FLAGS: readonly VerbFlag[] = [
  URL_FLAG,
  { name: 'write', about: 'Adds a tool that adds and replaces points; without it nothing is changed.' },
];

/** `kithdb mcp`: an MCP server on standard input and output, until its client closes it. */
export async function mcp(config: Config, _console: Console, flags: GivenFlags): Promise<ExitCode> {
  const { serveStdio } = await loadMcp().catch((error: unknown) => {
    throw new CommandError(reasonOf(error));
  });
  const options = { version: productVersion(), allowsWrites: flags.has('write') };
  await withService(config, flags, (service) => serveStdio(databaseOf(service), options));
  return EXIT.success;
}

function databaseOf(service: ByteTransport): ToolDatabase {
  return {
    execute: async (call) => encodeJson((await service.execute(call)).result),
  };
}
