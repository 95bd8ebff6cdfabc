import type { Dialect } from '../http/dialect';
import type { Exchange } from '../http/exchange';
import type { Lifecycle } from '../http/lifecycle';
import type { PlainRoute } from '../http/route-table';

/**
 * The level of Qdrant's REST API that is served (C9.2). Its official clients warn when their own minor version
 * is more than one away, so this one suits 1.18 to 1.20.
 */
export const QDRANT_API_LEVEL = '1.19.0';

/** The endpoints without envelope and without credentials (C9.2). */
export function plainRoutes(
  lifecycle: Lifecycle,
  kithdbVersion: string,
  dialect: Dialect,
): readonly PlainRoute[] {
  const welcome = (exchange: Exchange): void => {
    exchange.sendValue(200, {
      title: 'kithdb - vector database',
      version: QDRANT_API_LEVEL,
      kithdb_version: kithdbVersion,
      dialect: dialect.name,
      status: 'ok',
      time: exchange.elapsedSeconds(),
    });
  };
  // Liveness checks nothing that the process depends on: a restart would not repair that.
  const alive = (exchange: Exchange): void => {
    sendHealth(exchange, dialect.health?.alive);
  };
  const ready = (exchange: Exchange): void => {
    const { readiness } = lifecycle;
    if (readiness === 'ready') {
      sendHealth(exchange, dialect.health?.ready);
    } else {
      exchange.sendValue(503, { status: readiness }, { 'Retry-After': '1' });
    }
  };
  return [plain('/', welcome), plain('/livez', alive), plain('/healthz', alive), plain('/readyz', ready)];
}

function sendHealth(exchange: Exchange, sentence: string | undefined): void {
  if (sentence === undefined) exchange.sendValue(200, { status: 'ok' });
  else exchange.send(200, Buffer.from(sentence), { 'Content-Type': 'text/plain; charset=utf-8' });
}

function plain(path: string, answer: PlainRoute['answer']): PlainRoute {
  return { kind: 'plain', method: 'GET', path, permission: 'none', answer };
}
