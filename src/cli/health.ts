import type { IncomingMessage } from 'node:http';
import type { Config } from '../config';
import { CommandError, EXIT, type Console } from './console';
import { say } from './flags';
import type { GivenFlags } from './verbs';
import { reasonOf } from '../files/explained';

/** A server that does not answer within this time is not ready. Container systems wait about as long. */
const ANSWER_MS = 4000;

/** The wildcard addresses, each with the address at which to ask a server that listens on it. */
const ANYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** `kithdb health`: whether the server that these settings describe is ready, for the health check of a container. */
export async function health(config: Config, console: Console, flags: GivenFlags): Promise<undefined> {
  const { port } = config;
  if (port === 0) {
    throw new CommandError('The port is 0: which one the server picked is not known', EXIT.usage);
  }
  const host = ANYWHERE[config.host] ?? config.host;
  const { get } = config.tls === undefined ? await import('node:http') : await import('node:https');
  // The certificate is not issued for a loopback address.
  const options = { host, port, path: '/readyz', rejectUnauthorized: false, timeout: ANSWER_MS };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = get(options, resolve).once('error', reject);
    request.once('timeout', () => request.destroy(new Error(`no answer within ${ANSWER_MS} ms`)));
  }).catch((error: unknown) => {
    const reason = reasonOf(error);
    throw new CommandError(`The server at ${host} port ${port} is not ready: ${reason}`);
  });
  answer.destroy();
  if (answer.statusCode !== 200) {
    throw new CommandError(
      `The server at ${host} port ${port} is not ready: /readyz says ${answer.statusCode ?? 0}`,
    );
  }
  say(console, flags, 'ready', { ready: true });
}
