import type { Exchange } from './exchange';

/** Where requests are traced to: an SDK of OpenTelemetry that the user has registered. */
export interface Tracing {
  /** Begins the span of a request that has arrived; `address` is the client's. */
  begin(exchange: Exchange, address: string): RequestTrace;
  /** Resolves when the SDK has exported what it holds, or has taken too long. */
  flush(): Promise<void>;
}

/** The span of a request. */
export interface RequestTrace {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Begins the span of a call of the engine. */
  engine(operation: string, collection: string | undefined): EngineTrace;
  /** Ends it, when the exchange is over. */
  end(exchange: Exchange): void;
}

/** The span of a call of the engine. */
export interface EngineTrace {
  /** Makes the call: spans that libraries make meanwhile, as for the endpoint of a model, are children of this one. */
  run<T>(call: () => T): T;
  /** Ends it; `failure` is the code of an error of the engine, and the status that it is answered with. */
  end(failure?: { readonly code: string; readonly status: number }): void;
}
