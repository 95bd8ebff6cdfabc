import { X509Certificate } from 'node:crypto';
import type { PeerCertificate, SecureContextOptions } from 'node:tls';
import { isIP } from 'node:net';
import type { AgentOptions, ServerOptions } from 'node:https';
import { secureOptions } from '../../http/certificate';

/** The certificate of this node, as PEM text, and whose certificates others must have. */
export interface PeerTls {
  readonly cert: string;
  readonly key: string;
  /** The authority of the cluster's certificates. */
  readonly ca: string;
  /** The name of the cluster, which is the common name or a DNS name of each certificate. */
  readonly name: string;
}

/** How nodes speak with one another; `insecure` is for tests and trials on one machine. */
export type PeerSecurity = PeerTls | 'insecure';

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const TLS_VERSION = 'TLSv1.3';
const HANDSHAKE_MS = 5000;

/**
 * The options of a server that only other nodes of the cluster may connect to.
 * @throws Error that says why, where they cannot be used.
 */
export function serverSecurity(tls: PeerTls): ServerOptions {
  return {
    ...materialOf(tls),
    requestCert: true,
    rejectUnauthorized: true,
    handshakeTimeout: HANDSHAKE_MS,
  };
}

/** The same for the connections of a client. @throws Error */
export function clientSecurity(tls: PeerTls): AgentOptions {
  return {
    ...materialOf(tls),
    rejectUnauthorized: true,
    servername: tls.name,
    // A session that is resumed would not ask for the certificate again.
    maxCachedSessions: 0,
    checkServerIdentity: (_host: string, { raw }: PeerCertificate) =>
      isOfCluster(new X509Certificate(raw), tls.name)
        ? undefined
        : new Error('the certificate is not of this cluster'),
  };
}

function materialOf({ cert, key, ca, name }: PeerTls): SecureContextOptions {
  if (!NAME.test(name) || isIP(name) !== 0)
    throw new Error(`${JSON.stringify(name)} cannot be the name of a cluster`);
  return { ...secureOptions({ cert, key }), ca, minVersion: TLS_VERSION };
}

/** Whether a certificate, whose authority is checked already, has the name of the cluster. */
export function isOfCluster(certificate: X509Certificate, name: string): boolean {
  // The name that was found, since letters match in either case.
  if (certificate.checkHost(name, { subject: 'never', wildcards: false }) === name) return true;
  const subject = certificate.toLegacyObject().subject as { readonly CN?: unknown } | undefined;
  return subject?.CN === name;
}
