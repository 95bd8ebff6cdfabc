import type { ByteTransport } from '../client/transport';
import type { Config, VerbFlag } from '../config';
import { CommandError, EXIT } from './console';
import { optionalFlag } from './flags';
import type { GivenFlags } from './verbs';

/** The flag of every command that works on collections. */
export const URL_FLAG: VerbFlag = {
  name: 'url',
  placeholder: 'URL',
  about:
    'The server to ask, such as http://127.0.0.1:6363; its access token is KITHDB_TOKEN or KITHDB_TOKEN_FILE.',
};

/** Runs work on the server of `--url`. Connections are closed afterwards. */
export async function withService<T>(
  config: Config,
  flags: GivenFlags,
  work: (service: ByteTransport) => Promise<T>,
): Promise<T> {
  const service = await openService(config, flags);
  try {
    return await work(service);
  } catch (error) {
    throw explained(error);
  } finally {
    await service.close();
  }
}

async function openService({ token }: Config, flags: GivenFlags): Promise<ByteTransport> {
  const url = optionalFlag(flags, 'url');
  if (url === undefined) {
    throw new CommandError('--url URL is required', EXIT.usage);
  }
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw new CommandError(`--url must be a URL such as http://127.0.0.1:6363, not ${url}`, EXIT.usage);
  }
  const { HttpTransport } = await import('../client/http-transport.js');
  const { DEFAULT_RETRIES, retrying } = await import('../client/retries.js');
  return retrying(new HttpTransport(url, token === undefined ? {} : { token }), DEFAULT_RETRIES);
}

/** A failure of a call is explained by its message; a defect keeps its stack. */
function explained(error: unknown): unknown {
  const { name, message, status } = error as { name?: string; message?: string; status?: unknown };
  const isOfCall = error instanceof Error && (typeof status === 'number' || name === 'SourceError');
  return isOfCall ? new CommandError(message ?? '') : error;
}
