import type { Logger } from 'pino';
import { notedForAudit, type AuditOutcome } from './audit-fields';
import type { ClientAddresses } from './client-address';
import type { Exchange } from './exchange';
import { COLLECTION_PARAMETER, isPointsRoute, type Route } from './route-table';

/** Which requests are logged beside those that the level of the log has. */
export interface RequestLogOptions {
  /** Requests that take so many milliseconds are logged as warnings; none when absent. */
  readonly slowMs?: number | undefined;
  /** Takes the lines about actions of admins, on tokens and on collections; none are written when absent. */
  readonly audit?: ((line: object) => void) | undefined;
}

/**
 * Writes one line for each request at its end, where the level of the log has them. A line has the pattern of the route and
 * the name of the collection, that of a slow search what it did (C13), and never a path, an id of a point, a query or a credential.
 */
export class RequestLog {
  readonly #logsAll: boolean;
  readonly #slowMs: number;

  constructor(
    private readonly log: Logger,
    private readonly addresses: Pick<ClientAddresses, 'of'>,
    private readonly options: RequestLogOptions = {},
  ) {
    this.#logsAll = log.isLevelEnabled('info');
    this.#slowMs = options.slowMs ?? Infinity;
  }

  /** Takes a request that is over after so many seconds. */
  ended(exchange: Exchange, seconds: number): void {
    const ms = seconds * 1000;
    if (ms >= this.#slowMs) {
      const { search } = exchange;
      this.log.warn({ ...this.#line(exchange, ms), ...(search !== undefined && { search }) }, 'slow request');
    } else if (this.#logsAll) {
      const words = exchange.wasAnswered() ? 'request' : 'request aborted by the client';
      this.log.info(this.#line(exchange, ms), words);
    }
    const { audit } = this.options;
    if (audit !== undefined && exchange.route !== undefined && isAudited(exchange.route)) {
      audit(this.#auditLine(exchange, exchange.route));
    }
  }

  #line(exchange: Exchange, ms: number): object {
    const wasAnswered = exchange.wasAnswered();
    // The logger leaves out what is undefined.
    return {
      requestId: exchange.requestId,
      method: exchange.method,
      route: exchange.route?.path ?? 'none',
      collection: exchange.params[COLLECTION_PARAMETER],
      status: wasAnswered ? exchange.response.statusCode : undefined,
      aborted: wasAnswered ? undefined : true,
      ms: Math.round(ms * 1e3) / 1e3,
      address: this.addresses.of(exchange.request),
      principal: exchange.principal,
      trace_id: exchange.trace?.traceId,
    };
  }

  #auditLine(exchange: Exchange, route: Route): object {
    return {
      time: new Date().toISOString(),
      requestId: exchange.requestId,
      who: exchange.credential ?? exchange.principal,
      address: this.addresses.of(exchange.request),
      action: `${route.method} ${route.path}`,
      ...exchange.params,
      ...exchange.auditedBody?.fields(),
      ...notedForAudit(exchange.response),
      status: exchange.wasAnswered() ? exchange.response.statusCode : null,
      outcome: outcomeOf(exchange),
    };
  }
}

/**
 * Changes of the admin, of tokens, of collections and of snapshots, logins, and downloads of snapshots, which are whole
 * collections; not changes of points.
 */
function isAudited(route: Route): boolean {
  switch (route.kind) {
    case 'auth':
      return route.method !== 'GET';
    case 'service':
      return route.isAudited;
    case 'engine':
      return route.permission === 'write' && !isPointsRoute(route);
    case 'handled':
    case 'plain':
    case 'report':
    case 'unimplemented':
      return false;
  }
}

function outcomeOf(exchange: Exchange): AuditOutcome {
  if (!exchange.wasAnswered()) {
    return 'aborted';
  }
  const { statusCode } = exchange.response;
  return statusCode < 400 ? 'done' : statusCode < 500 ? 'refused' : 'failed';
}
