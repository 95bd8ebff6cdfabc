import {
  context,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import type { Exchange } from '../http/exchange';
import type { EngineTrace, RequestTrace, Tracing } from '../http/request-trace';

/** The name that the spans are made under, as that of an instrumentation. */
const NAME = 'kithdb';
/** How long a stop waits for the SDK. */
const FLUSH_MS = 500;
/** The methods that the conventions for HTTP know; any other is `_OTHER`. */
const METHODS: ReadonlySet<string> = new Set([
  ...['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'],
]);

/** A provider of an SDK, or what the API has put before it. */
interface Flushable {
  getDelegate?(): Flushable;
  forceFlush?(): Promise<void>;
}

/**
 * Spans of OpenTelemetry, by its semantic conventions for HTTP servers and for databases. `url.path` is left out: it may hold
 * the id of a point, as `http.route` does not.
 */
export class SpanTracing implements Tracing {
  readonly #tracer: Tracer;

  constructor(kithdbVersion: string) {
    this.#tracer = trace.getTracer(NAME, kithdbVersion);
  }

  begin(exchange: Exchange, address: string): RequestTrace {
    const { request, method } = exchange;
    const active = context.active();
    // An instrumentation of Node's HTTP server has a span for the request already, and has read its headers.
    const isTraced = trace.getSpan(active) !== undefined;
    const parent = isTraced ? active : propagation.extract(active, request.headers);
    const attributes: Attributes = {
      'http.request.method': METHODS.has(method) ? method : '_OTHER',
      'url.scheme': 'encrypted' in request.socket ? 'https' : 'http',
      'client.address': address,
      'network.protocol.version': request.httpVersion,
      'kithdb.request.id': exchange.requestId,
    };
    const agent = request.headers['user-agent'];
    if (agent !== undefined) {
      attributes['user_agent.original'] = agent;
    }
    const span = this.#tracer.startSpan(nameOf(method), { kind: SpanKind.SERVER, attributes }, parent);
    return new RequestSpan(this.#tracer, span, trace.setSpan(parent, span));
  }

  async flush(): Promise<void> {
    const provider = trace.getTracerProvider() as Flushable;
    const flushing = (provider.getDelegate?.() ?? provider).forceFlush?.();
    const timeout = new Promise<void>((resolve) => {
      setTimeout(resolve, FLUSH_MS).unref();
    });
    await Promise.race([flushing?.catch(() => undefined), timeout]);
  }
}

class RequestSpan implements RequestTrace {
  constructor(
    private readonly tracer: Tracer,
    private readonly span: Span,
    private readonly context: Context,
  ) {}

  get traceId(): string {
    return this.span.spanContext().traceId;
  }

  engine(operation: string, collection: string | undefined): EngineTrace {
    const attributes: Attributes = { 'db.system.name': 'kithdb', 'db.operation.name': operation };
    if (collection !== undefined) {
      attributes['db.collection.name'] = collection;
    }
    const span = this.tracer.startSpan(`engine ${operation}`, { attributes }, this.context);
    return new EngineSpan(span, trace.setSpan(this.context, span));
  }

  end(exchange: Exchange): void {
    const { span } = this;
    const { method, route } = exchange;
    if (route !== undefined) {
      span.updateName(`${nameOf(method)} ${route.path}`);
      span.setAttribute('http.route', route.path);
    }
    if (exchange.wasAnswered()) {
      const { statusCode } = exchange.response;
      span.setAttribute('http.response.status_code', statusCode);
      fail(span, statusCode, String(statusCode));
    } else {
      span.setAttribute('error.type', 'aborted');
    }
    span.end();
  }
}

class EngineSpan implements EngineTrace {
  constructor(
    private readonly span: Span,
    private readonly context: Context,
  ) {}

  run<T>(call: () => T): T {
    return context.with(this.context, call);
  }

  end(failure?: { readonly code: string; readonly status: number }): void {
    if (failure !== undefined) {
      this.span.setAttribute('error.type', failure.code);
      fail(this.span, failure.status, failure.code);
    }
    this.span.end();
  }
}

/** The name of a span that has no route (yet). */
function nameOf(method: string): string {
  return METHODS.has(method) ? method : 'HTTP';
}

/** Marks a span as failed if that is the server's fault. */
function fail(span: Span, status: number, type: string): void {
  if (status >= 500) {
    span.setAttribute('error.type', type);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
}
