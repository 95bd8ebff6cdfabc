import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { RetryPolicy } from '../client/retries';
import type { ByteTransport } from '../client/transport';
import type { Config, VerbFlag } from '../config';
import { CommandError, EXIT } from './console';
import { optionalFlag } from './flags';
import type { GivenFlags } from './verbs';
import { reasonOf } from '../files/explained';

/** The flag of every command that works on collections. */
export const URL_FLAG: VerbFlag = {
  name: 'url',
  placeholder: 'URL',
  about:
    'The server to ask, such as http://127.0.0.1:6363; its access token is KITHDB_TOKEN or KITHDB_TOKEN_FILE. Without it the data directory is opened, beside a server that has it open too.',
};

/** The settings of every command that works on collections. */
export const SERVICE_SETTINGS = ['config', 'dataDir', 'token'] as const;
/** The settings of commands whose points or queries may have texts: over a folder this process embeds them. */
export const TEXT_SETTINGS = [...SERVICE_SETTINGS, 'models'] as const;

/**
 * Runs work on the server of `--url`, or in the data directory. What is opened is closed afterwards.
 * @param retry how calls of a server are tried again that fail; as in the client where absent
 */
export async function withService<T>(
  config: Config,
  flags: GivenFlags,
  work: (service: ByteTransport) => Promise<T>,
  retry?: Partial<RetryPolicy>,
): Promise<T> {
  const url = serverUrl(flags);
  const service = await (url === undefined ? openFolder(config) : openServer(config, url, retry));
  try {
    return await work(service);
  } catch (error) {
    throw explained(error);
  } finally {
    await service.close();
  }
}

/** The URL of a server that a flag gives. @throws CommandError */
export function serverUrl(flags: GivenFlags): string | undefined {
  const url = optionalFlag(flags, 'url');
  if (url !== undefined && (!URL.canParse(url) || !/^https?:/.test(url))) {
    throw new CommandError(`--url must be a URL such as http://127.0.0.1:6363, not ${url}`, EXIT.usage);
  }
  return url;
}

/** What a command works on, as the state of an interrupted one names it: the URL, or the data directory behind all links. */
export function targetOf({ dataDir }: Config, flags: GivenFlags): string {
  const url = serverUrl(flags);
  return url === undefined ? realPath(resolve(dataDir)) : new URL(url).href;
}

/** The path behind all links of its parts that exist. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), basename(path));
  }
}

async function openServer(
  { token }: Config,
  url: string,
  retry?: Partial<RetryPolicy>,
): Promise<ByteTransport> {
  const { httpTransport } = await import('../client/http-transport.js');
  return httpTransport(url, { ...(token !== undefined && { token }), ...(retry !== undefined && { retry }) });
}

/** Makes the data directory of a command that works on it, where it is missing. */
export function makeDataDir({ dataDir }: Config, flags: GivenFlags): void {
  if (serverUrl(flags) === undefined) mkdirSync(dataDir, { recursive: true, mode: 0o700 });
}

/** Its owner's engine does the work where another process has the folder open (C18). */
async function openFolder({ dataDir, models }: Config): Promise<ByteTransport> {
  if (!existsSync(dataDir)) {
    throw new CommandError(
      `There is no data directory ${dataDir}: name one with --data-dir, or a server with --url`,
    );
  }
  const embedded = await import('../embedded/open.js');
  return embedded.openFolder(dataDir, { models }).catch((error: unknown) => {
    throw new CommandError(reasonOf(error));
  });
}

/** A failure of a call is explained by its message; a defect keeps its stack. */
export function explained(error: unknown): unknown {
  const { name, message, status } = error as { name?: string; message?: string; status?: unknown };
  const isOfCall = error instanceof Error && (typeof status === 'number' || name === 'SourceError');
  return isOfCall ? new CommandError(message ?? '') : error;
}
