import type { Server } from 'node:http';
import {
  AUTH_BODY_BYTES,
  authRoutes,
  checkExposure,
  isPrivateAddress,
  originGuard,
  type AuthService,
} from '../auth';
import { consoleRoutes } from '../console/routes';
import { DEFAULT_PACE } from '../http/body';
import { shareListening } from '../event-loops/listening';
import { ClientAddresses } from '../http/client-address';
import type { Deferred } from '../http/deferred';
import { DIALECTS } from '../http/dialect';
import { createHttpServer, DEFAULT_SERVER_LIMITS } from '../http/http-server';
import { ConnectionLimit } from '../http/connection-limit';
import { listen, listenOn, StartError } from '../http/listen';
import { httpListeners, type HttpListeners } from '../http/listener';
import type { OwnAddress } from '../mcp-host/own-server';
import { mcpRoutes } from '../mcp-host/route';
import { bytesInFlight } from '../process/memory';
import { allRoutes } from '../routes';
import { productVersion } from '../system/version';
import type { Start } from './start';
import { reasonOf } from '../files/explained';

/** Makes the HTTP server and listens. When that fails, what was opened so far is closed. */
export async function serve(
  start: Start,
  auth: Deferred<AuthService>,
): Promise<{ server: Server; port: number }> {
  const { config, log, cleanUp } = start;
  try {
    if (!isPrivateAddress(config)) {
      for (const warning of checkExposure(config, await auth.ready)) {
        log.warn(warning);
      }
    }
    const { server, listeners, connections } = createServer(start, auth);
    const { loops } = start;
    const { port: asked, host } = config;
    const shared = await shareListening(asked, host, loops?.count ?? 1);
    if (shared === undefined) {
      return { server, port: await listen(server, asked, host) };
    }
    const [own = [], ...others] = shared;
    const port = await listenOn(server, own);
    loops?.start({ auth, listeners, connections }, others);
    return { server, port };
  } catch (error) {
    await cleanUp.run();
    throw error;
  }
}

/** The server, what answers its requests, and the limit on its connections. */
interface MadeServer {
  readonly server: Server;
  readonly listeners: HttpListeners;
  readonly connections: ConnectionLimit;
}

function createServer(start: Start, auth: Deferred<AuthService>): MadeServer {
  const { config, log, lifecycle, state, snapshots, tracing } = start;
  let listening: Server | undefined;
  const ownAddress = (): OwnAddress | undefined => {
    const address = listening?.address();
    if (typeof address !== 'object' || address === null) return undefined;
    return { host: config.host, port: address.port, isTls: config.tls !== undefined };
  };
  const { admission, requests } = state;
  const addresses = new ClientAddresses(config.trustedProxies);
  const dialect = DIALECTS[config.dialect];
  const routes = allRoutes({
    authRoutes: authRoutes(auth.ready, addresses, requests),
    lifecycle,
    requests,
    kithdbVersion: productVersion(),
    isClustered: start.cluster !== undefined,
    metrics: { lastBackup: () => start.lastBackup.finishedAt },
    dialect,
    pages: [...mcpRoutes(config.mcp, ownAddress), ...(config.console ? consoleRoutes() : [])],
    snapshots,
    settings: config.settings,
  });
  requests.countRoutes?.(routes);
  const listeners = httpListeners({
    routes,
    dialect,
    requests,
    admission,
    addresses,
    auth,
    guard: originGuard(config),
    lifecycle,
    log,
    tracing,
    limits: {
      bodyBytes: Math.min(config.maxBodyBytes, bytesInFlight(config)),
      authBodyBytes: AUTH_BODY_BYTES,
    },
    bodyPace: DEFAULT_PACE,
    corsOrigins: config.corsOrigins,
    requestLog: { slowMs: config.slowRequestMs, audit: start.audit },
  });
  try {
    const { maxConnections, tls } = config;
    const connections = new ConnectionLimit(maxConnections, listeners.cut, start.loops?.otherConnections);
    const limits = { ...DEFAULT_SERVER_LIMITS, maxConnections };
    listening = createHttpServer(listeners, limits, tls, connections);
    return { server: listening, listeners, connections };
  } catch (error) {
    const reason = reasonOf(error);
    throw new StartError(`The TLS certificate and key cannot be used: ${reason}`, { cause: error });
  }
}
