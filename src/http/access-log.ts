import type { Logger } from 'pino';
import type { Exchange } from './exchange';

/**
 * Writes one line for each request at its end: the route's pattern and never the path, so that no id, no name and no
 * query value is logged; of the identity only its kind.
 */
export function logAtEnd(exchange: Exchange, log: Logger): void {
  if (!log.isLevelEnabled('info')) {
    return;
  }
  exchange.whenOver(() => {
    const line = {
      requestId: exchange.requestId,
      method: exchange.method,
      route: exchange.route?.path ?? 'none',
      status: exchange.response.statusCode,
      ms: Math.round(exchange.elapsedSeconds() * 1e6) / 1e3,
      principal: exchange.principal,
    };
    if (exchange.wasAnswered()) {
      log.info(line, 'request');
    } else {
      log.info({ ...line, status: undefined, aborted: true }, 'request aborted by the client');
    }
  });
}
