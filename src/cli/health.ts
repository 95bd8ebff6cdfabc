import type { IncomingMessage } from 'node:http';
import type { Config } from '../config';
import { CommandError, EXIT, type Console } from './console';

/** A server that does not answer in this time is not ready; container systems wait for about as long. */
const ANSWER_MS = 4000;

/** Addresses on which a server listens everywhere, and where it is to be asked then. */
const ANYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** `kithdb health`: whether the server that these settings describe is ready, for the health check of a container. */
export async function health(config: Config, console: Console): Promise<undefined> {
  const { port } = config;
  if (port === 0) {
    throw new CommandError('The port is 0: which one the server picked is not known', EXIT.usage);
  }
  const host = ANYWHERE[config.host] ?? config.host;
  const { get } = config.tls === undefined ? await import('node:http') : await import('node:https');
  // The certificate is for other names than this one.
  const options = { host, port, path: '/readyz', rejectUnauthorized: false, timeout: ANSWER_MS };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = get(options, resolve).once('error', reject);
    request.once('timeout', () => request.destroy(new Error(`no answer within ${ANSWER_MS} ms`)));
  }).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`The server at ${host} port ${port} is not ready: ${reason}`);
  });
  answer.destroy();
  if (answer.statusCode !== 200) {
    throw new CommandError(
      `The server at ${host} port ${port} is not ready: /readyz says ${answer.statusCode ?? 0}`,
    );
  }
  console.stdout.write('ready\n');
}
