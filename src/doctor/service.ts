import { createServer } from 'node:http';
import { X509Certificate } from 'node:crypto';
import { isLoopbackHost } from '../auth/loopback';
import { openConnection } from '../auth/store/connection';
import type { Config } from '../config';
import { reasonOf } from '../files/explained';
import { secureOptions, type TlsFiles } from '../http/certificate';
import { listen, authority } from '../http/listen';
import { whyOfCluster } from '../operations/cluster-node';
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

/** The certificates of the settings; nothing where there are none. */
export function checkCertificate(
  { tls, cluster }: Pick<Config, 'tls'> & Partial<Pick<Config, 'cluster'>>,
  now = Date.now(),
): readonly Finding[] {
  return [
    ...(tls === undefined ? [] : validity('certificate', tls, now)),
    ...(cluster?.tls === undefined ? [] : validity('cluster-certificate', cluster.tls, now)),
  ];
}

function validity(check: string, tls: TlsFiles, now: number): readonly Finding[] {
  let until: Date;
  try {
    until = new Date(new X509Certificate(tls.cert).validTo);
  } catch (error) {
    return [{ check, state: 'problem', what: `${tls.certFile} holds no certificate (${reasonOf(error)})` }];
  }
  const unusable = whyUnusablePair(tls);
  if (unusable !== undefined) {
    return [
      {
        check,
        state: 'problem',
        what: `${tls.certFile} and ${tls.keyFile} cannot be used: ${unusable}`,
        advice: 'name the key that belongs to the certificate, without a passphrase',
      },
    ];
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

/** Why a server cannot use a certificate with a key; undefined where it can. */
function whyUnusablePair(tls: TlsFiles): string | undefined {
  try {
    secureOptions(tls);
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

/** What a node of a cluster needs beside a server by itself; nothing for the latter. */
export async function checkCluster({
  cluster,
  dataDir,
}: Pick<Config, 'cluster' | 'dataDir'>): Promise<readonly Finding[]> {
  const check = 'cluster';
  if (cluster === undefined) {
    const why = whyOfCluster(dataDir);
    if (why === undefined) return [];
    const what = `${why}, and these settings name no log servers: a server of them does not start on it`;
    return [{ check, state: 'problem', what, advice: 'give the settings of the node, --cluster among them' }];
  }
  try {
    const { loadCluster } = await import('../startup/cluster.js');
    await loadCluster();
  } catch (error) {
    return [{ check, state: 'problem', what: reasonOf(error) }];
  }
  const { user, credentials, tls, servers } = cluster.log;
  const isOpen = user === undefined && credentials === undefined && tls?.certificate === undefined;
  const isRemote = servers.some(
    (server) => !isLoopbackHost(server.replace(/:\d+$/, '').replace(/[[\]]/g, '')),
  );
  const what = `a node of ${cluster.name}, whose log servers are ${servers.join(', ')}`;
  return [
    isOpen && isRemote
      ? { check, state: 'advice', what, advice: 'give the log servers a user, or let nobody else reach them' }
      : { check, state: 'ok', what },
  ];
}
