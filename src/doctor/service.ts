import { createServer } from 'node:http';
import { X509Certificate } from 'node:crypto';
import { openConnection } from '../auth/store/connection';
import type { Config } from '../config';
import { reasonOf } from '../files/explained';
import { listen, authority } from '../http/listen';
import { healthLive } from '../operations/control-client';
import type { Finding } from './finding';

/** The library that would keep admin, tokens and the setting of authentication. */
export async function checkStore({ tokenStore }: Pick<Config, 'tokenStore'>): Promise<Finding> {
  const check = 'token-store';
  if (tokenStore === 'memory') {
    return {
      check,
      state: 'advice',
      what: 'KITHDB_TOKEN_STORE=memory forgets the admin and all access tokens when the server ends',
      advice: 'leave the setting out',
    };
  }
  try {
    const connection = await openConnection(':memory:', tokenStore);
    await connection.close();
    return { check, state: 'ok', what: `${connection.kind} loads` };
  } catch (error) {
    const [what = '', ...rest] = reasonOf(error).split('\n');
    return { check, state: 'problem', what: what.replace(/\.$/, ''), advice: rest.join(' ') };
  }
}

/** Whether a server could listen, or one of this data directory does already. */
export async function checkPort({
  host,
  port,
  dataDir,
}: Pick<Config, 'host' | 'port' | 'dataDir'>): Promise<Finding> {
  const check = 'port';
  const health = await healthLive(dataDir).catch(() => undefined);
  if (health !== undefined) {
    return { check, state: 'ok', what: `a server runs on this data directory, and says: ${health}` };
  }
  const server = createServer();
  try {
    await listen(server, port, host);
  } catch (error) {
    return { check, state: 'problem', what: reasonOf(error) };
  }
  await new Promise((resolve) => server.close(resolve));
  const where = port === 0 ? `a free port of ${host}` : authority(host, port);
  return { check, state: 'ok', what: `a server can listen on ${where}` };
}

const DAY_MS = 86_400_000;
/** A certificate that is valid for less is not renewed by itself. */
const RENEWED_DAYS = 14;

/** The certificate of the settings; nothing where there is none. */
export function checkCertificate({ tls }: Pick<Config, 'tls'>, now = Date.now()): readonly Finding[] {
  if (tls === undefined) {
    return [];
  }
  const check = 'certificate';
  let until: Date;
  try {
    until = new Date(new X509Certificate(tls.cert).validTo);
  } catch (error) {
    return [{ check, state: 'problem', what: `${tls.certFile} holds no certificate (${reasonOf(error)})` }];
  }
  const days = Math.floor((until.getTime() - now) / DAY_MS);
  const what = `the certificate is valid until ${until.toISOString().slice(0, 10)}`;
  if (days < 0) {
    return [{ check, state: 'problem', what, advice: 'renew it: clients refuse it' }];
  }
  return [
    days < RENEWED_DAYS
      ? { check, state: 'advice', what, advice: 'renew it; the server reads it again by itself' }
      : { check, state: 'ok', what },
  ];
}
