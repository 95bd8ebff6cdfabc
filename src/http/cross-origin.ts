import type { Exchange } from './exchange';

/** Headers that a page of another origin may send. */
const ALLOWED_HEADERS =
  'authorization, api-key, content-type, idempotency-key, kithdb-position, user-agent, x-request-id';
/** Headers of an answer that such a page may read. */
const EXPOSED_HEADERS = 'kithdb-missing-shards, kithdb-position, x-request-id, retry-after';
const PREFLIGHT_SECONDS = '600';

/**
 * Lets pages of the listed origins read the answers, and answers their preflight requests. With no origin listed
 * there is no CORS at all, and OPTIONS is a method like any other that no route has.
 */
export class CrossOrigin {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /**
   * Marks the exchange with the headers its answer needs; true when it was a preflight and is answered already.
   * `methods` are those of the path.
   */
  apply(exchange: Exchange, methods: (path: string) => readonly string[]): boolean {
    const { origin } = exchange.request.headers;
    if (origin === undefined || !this.#origins.has(origin)) {
      return false;
    }
    exchange.extraHeaders = {
      'Access-Control-Allow-Origin': origin,
      'Access-Control-Expose-Headers': EXPOSED_HEADERS,
      Vary: 'Origin',
    };
    if (exchange.method !== 'OPTIONS') {
      return false;
    }
    const allowed = methods(exchange.path);
    if (allowed.length === 0) {
      return false;
    }
    exchange.sendEmpty(204, {
      'Access-Control-Allow-Methods': allowed.join(', '),
      'Access-Control-Allow-Headers': ALLOWED_HEADERS,
      'Access-Control-Max-Age': PREFLIGHT_SECONDS,
    });
    return true;
  }
}
