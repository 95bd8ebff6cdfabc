import type { Tracing } from '../http/request-trace';

/** Where all copies of version 1 of OpenTelemetry's API in a process find what an SDK has registered with one of them. */
const REGISTRY = Symbol.for('opentelemetry.js.api.1');

/**
 * Tracing by the SDK that was registered before, as with `node --import`; undefined where none was. Then the API is not even
 * loaded, which takes longer than the rest of this.
 */
export async function openTracing(kithdbVersion: string): Promise<Tracing | undefined> {
  const registered = (globalThis as Record<symbol, { readonly trace?: unknown } | undefined>)[REGISTRY];
  if (registered?.trace === undefined) {
    return undefined;
  }
  const { SpanTracing } = await import('./spans.js');
  return new SpanTracing(kithdbVersion);
}
