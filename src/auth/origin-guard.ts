import type { Caller, OriginGuard } from '../http/authorization';
import { isLoopbackAddress, isLoopbackHost, namesAddress, namesLoopback } from './loopback';

/** The guard of a server that listens on `host` and lets pages of `corsOrigins` call it. */
export function originGuard(settings: {
  readonly host: string;
  readonly corsOrigins: readonly string[];
}): OriginGuard {
  const onLoopback = isLoopbackHost(settings.host);
  const listed = new Set(settings.corsOrigins);
  // Usually the same from one request to the next.
  let lastLocal: string | undefined;
  return {
    refuse: (request, authEnabled) => {
      const { host, origin } = request.headers;
      if (!authEnabled && onLoopback && (host === undefined || host !== lastLocal)) {
        if (!namesLoopback(host)) {
          return 'The Host header must name a loopback address while authentication is disabled';
        }
        lastLocal = host;
      }
      if (!authEnabled && !onLoopback && origin !== undefined && !listed.has(origin) && !isOwnName(host)) {
        return 'The Host header must be an IP address or a loopback name while authentication is disabled, or the origin one of KITHDB_CORS_ORIGINS';
      }
      return isCrossOrigin(request) && !listed.has(origin ?? '')
        ? 'Cross-origin requests are refused: the origin is not one of KITHDB_CORS_ORIGINS'
        : undefined;
    },
    refuseRemote: (request) => (isDirectLocal(request) ? undefined : LOCAL_ONLY),
  };
}

/** Whether DNS rebinding cannot produce this `Host`: it is an address or a loopback name, not a name in the DNS. */
function isOwnName(host: string | undefined): boolean {
  return namesAddress(host) || namesLoopback(host);
}

/** The 403 of C3.3. */
export const LOCAL_ONLY = 'This endpoint can only be called from localhost';

/**
 * Headers in which proxies name a client or themselves, beside those whose names have one of {@link CLIENT_WORDS}; the page
 * docs/callers.md has them too. Behind a proxy on the same machine every peer is loopback, so the presence of one means
 * that the caller may be anywhere. No header ever grants trust.
 */
const PROXY_HEADERS: ReadonlySet<string> = new Set([
  'cdn-loop',
  'cf-pseudo-ipv4',
  'cloudfront-viewer-address',
  'via',
  'x-appengine-user-ip',
  'x-azure-socketip',
  'x-envoy-external-address',
  'x-nf-client-connection-ip',
  'x-real-ip',
  'x-remote-addr',
  'x-remote-ip',
]);
/** What names of headers contain in which a client is named: each proxy puts another prefix before it. */
const CLIENT_WORDS = /forwarded|client-?ip|connecting-?ip/;

/**
 * Whether a request comes directly from this machine and not from a page in a browser on it: the peer is loopback, the
 * `Host` is loopback (otherwise DNS rebinding would pass), no proxy has added headers, and no page of another origin
 * sends it. HTTP/1.0 is refused because nginx before 1.29.7 by default proxies with it, with a loopback `Host` and without
 * headers of its own; few other clients use it. A proxy that adds nothing and speaks HTTP/1.1 cannot be recognised, so
 * nothing that replaces a password relies on this.
 */
export function isDirectLocal(request: Caller): boolean {
  return (
    isLoopbackAddress(request.socket.remoteAddress ?? '') &&
    namesLoopback(request.headers.host) &&
    request.httpVersion !== '1.0' &&
    !Object.keys(request.headers).some((name) => PROXY_HEADERS.has(name) || CLIENT_WORDS.test(name)) &&
    !isCrossOrigin(request)
  );
}

/** Whether a browser sends this for a page of another origin. The opaque origin `null` is another one. */
export function isCrossOrigin({ headers: { origin, host } }: Pick<Caller, 'headers'>): boolean {
  if (origin === undefined) {
    return false;
  }
  if (!URL.canParse(origin)) {
    return true;
  }
  const { protocol, host: originHost } = new URL(origin);
  // A proxy may terminate TLS, so either scheme is the server's own where host and port are.
  const own = `${protocol}//${host ?? ''}`;
  return (
    !(protocol === 'http:' || protocol === 'https:') || !URL.canParse(own) || new URL(own).host !== originHost
  );
}
