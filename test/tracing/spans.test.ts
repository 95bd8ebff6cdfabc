import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-node';
import type { Tracing } from '../../src/http/request-trace';
import { openTracing } from '../../src/tracing/open';
import { ContractServer } from '../contract/contract-server';
import { send, startService, type Sent, type Service } from '../http/harness';
import { until } from '../until';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const SEARCH = '/collections/:collection_name/points/search';

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });

/** A traceparent of a caller that samples, or does not. */
function caller(flags = '01'): Record<string, string> {
  return { traceparent: `00-${TRACE}-${PARENT}-${flags}` };
}

/** The spans that have ended, without those of the SDK's own making. */
function spans(): readonly ReadableSpan[] {
  return exporter.getFinishedSpans();
}

function spanNamed(name: string): ReadableSpan {
  const found = spans().filter((span) => span.name === name);
  expect([name, found.length, spans().map((span) => span.name)]).toEqual([name, 1, expect.anything()]);
  return found[0]!;
}

describe('requests as spans of OpenTelemetry', () => {
  let service: Service;
  beforeAll(() => {
    // Sets what the caller's headers are read with (W3C) and what carries the context, as a user's file does.
    provider.register();
  });
  beforeEach(async () => {
    exporter.reset();
    service = await startService({ tracing: await opened() });
  });
  afterEach(() => service.close());
  afterAll(async () => {
    await provider.shutdown();
    trace.disable();
    context.disable();
    propagation.disable();
  });

  async function opened(): Promise<Tracing> {
    const tracing = await openTracing('0.1.0');
    if (tracing === undefined) throw new Error('no SDK is found');
    return tracing;
  }

  /** The status of a request whose exchange is over. */
  async function ended(method: string, path: string, options: Sent = {}): Promise<number> {
    const { status } = await send(service, method, path, options);
    await until(() => service.requests.inProgress === 0);
    return status;
  }

  function search(options: Sent = {}): Promise<number> {
    return ended('POST', '/collections/c/points/search', { json: {}, ...options });
  }

  it('are children of the caller, by the conventions for HTTP, and the call of the engine is theirs', async () => {
    expect(await search({ headers: { ...caller(), 'x-request-id': 'r-1', 'user-agent': 'tests' } })).toBe(
      200,
    );
    const request = spanNamed(`POST ${SEARCH}`);
    expect(request.spanContext().traceId).toBe(TRACE);
    expect(request.parentSpanContext).toMatchObject({ spanId: PARENT, isRemote: true });
    expect(request.kind).toBe(SpanKind.SERVER);
    expect(request.instrumentationScope).toMatchObject({ name: 'kithdb', version: '0.1.0' });
    expect(request.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': SEARCH,
      'http.response.status_code': 200,
      'url.scheme': 'http',
      'client.address': '127.0.0.1',
      'network.protocol.version': '1.1',
      'user_agent.original': 'tests',
      'kithdb.request.id': 'r-1',
    });
    const call = spanNamed('engine search');
    expect(call.parentSpanContext?.spanId).toBe(request.spanContext().spanId);
    expect(call.spanContext().traceId).toBe(TRACE);
    expect(call.attributes).toEqual({
      'db.system.name': 'kithdb',
      'db.operation.name': 'search',
      'db.collection.name': 'c',
    });
    expect(request.status.code).toBe(SpanStatusCode.UNSET);
    expect(spans()).toHaveLength(2);
  });

  it('have the trace id in the line of the log, sampled or not; those that are not sampled are not exported', async () => {
    await search({ headers: caller() });
    await search({ headers: caller('00') });
    const lines = service.logged.filter(({ msg }) => msg === 'request');
    expect(lines.map((line) => line['trace_id'])).toEqual([TRACE, TRACE]);
    expect(spans()).toHaveLength(2);
  });

  it('begin a trace of their own without a caller, and with a header that is none', async () => {
    const broken = { traceparent: `00-${'0'.repeat(32)}-${PARENT}-01` };
    for (const headers of [{}, broken, { traceparent: 'x' }]) await search({ headers });
    const roots = spans().filter(({ kind }) => kind === SpanKind.SERVER);
    expect(roots.map((root) => root.parentSpanContext)).toEqual([undefined, undefined, undefined]);
    expect(new Set(roots.map((root) => root.spanContext().traceId)).size).toBe(3);
  });

  it('say what failed: a fault of the server is an error, one of the client is not', async () => {
    service.engine.failWith('collection_not_found', { name: 'c' });
    expect(await search()).toBe(404);
    service.engine.failWith('internal', { message: 'a secret of the engine' });
    expect(await search()).toBe(500);
    const [missing, broken] = spans().filter(({ name }) => name === 'engine search');
    expect([missing!.status.code, missing!.attributes['error.type']]).toEqual([0, 'collection_not_found']);
    expect([broken!.status.code, broken!.attributes['error.type']]).toEqual([2, 'internal']);
    const requests = spans().filter(({ kind }) => kind === SpanKind.SERVER);
    expect(requests.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([404, 500]);
    expect(requests.map(({ status }) => status.code)).toEqual([0, 2]);
    expect(requests.map(({ attributes }) => attributes['error.type'])).toEqual([undefined, '500']);
    expect(JSON.stringify(spans().map(({ attributes, status }) => [attributes, status]))).not.toContain(
      'secret',
    );
  });

  it('are named by the route, and hold no path, query, body or credential', async () => {
    service.auth.enabled = true;
    const headers = { 'api-key': 'token-read', ...caller() };
    await ended('GET', '/collections/c/points/77777?x=77777', { headers });
    await ended('GET', '/77777');
    await ended('PROPFIND', '/collections');
    const servers = spans().filter(({ kind }) => kind === SpanKind.SERVER);
    expect(servers.map(({ name }) => name)).toEqual([
      'GET /collections/:collection_name/points/:id',
      'GET',
      'HTTP',
    ]);
    expect(servers[2]!.attributes['http.request.method']).toBe('_OTHER');
    const held = JSON.stringify(spans().map(({ name, attributes, events }) => [name, attributes, events]));
    expect(held).not.toMatch(/77777|token-read/);
  });

  it('belong to the span that an instrumentation of the HTTP server has made, if there is one', async () => {
    const tracing = await opened();
    const outer = trace.getTracer('other').startSpan('outer');
    const exchange = {
      ...{ request: { headers: caller(), httpVersion: '1.1', socket: {} }, method: 'GET', requestId: 'r' },
      ...{ route: undefined, response: { statusCode: 200 }, wasAnswered: () => true },
    };
    context.with(trace.setSpan(context.active(), outer), () => {
      tracing.begin(exchange as never, '::1').end(exchange as never);
    });
    expect(spanNamed('GET').parentSpanContext?.spanId).toBe(outer.spanContext().spanId);
  });

  it('let what happens during a call of the engine be its child', async () => {
    const tracing = await opened();
    const exchange = {
      ...{ request: { headers: {}, httpVersion: '1.1', socket: {} }, method: 'PUT', requestId: 'r' },
      ...{ route: undefined, response: { statusCode: 200 }, wasAnswered: () => false },
    };
    const request = tracing.begin(exchange as never, '::1');
    const call = request.engine('upsert_points', 'c');
    await call.run(async () => {
      await new Promise(setImmediate);
      trace.getTracer('fetch').startSpan('POST').end();
    });
    call.end();
    request.end(exchange as never);
    expect(spanNamed('POST').parentSpanContext).toEqual(spanNamed('engine upsert_points').spanContext());
    expect(spanNamed('PUT').attributes['error.type']).toBe('aborted');
  });

  it('are those of a whole server, and are exported before it has stopped', async () => {
    const server = await ContractServer.start();
    try {
      await server.collection('c');
      await send(server, 'GET', '/collections/c', { headers: caller() });
      const name = 'GET /collections/:collection_name';
      await until(() => spans().some((span) => span.name === name));
      const request = spanNamed(name);
      expect(request.spanContext().traceId).toBe(TRACE);
      const flushed = jest.spyOn(provider, 'forceFlush');
      await server.halt();
      expect(flushed).toHaveBeenCalledTimes(1);
    } finally {
      await server.stop();
    }
  });

  it('do not keep a stop waiting for an exporter that hangs', async () => {
    const tracing = await opened();
    const hanging = jest.spyOn(provider, 'forceFlush').mockReturnValue(new Promise(() => undefined));
    await tracing.flush();
    hanging.mockRejectedValue(new Error('no collector'));
    await tracing.flush();
    hanging.mockRestore();
  });
});

it('without an SDK no header of a trace is read, no span made, and the API not even loaded', async () => {
  expect(await openTracing('0.1.0')).toBeUndefined();
  const open = join(__dirname, '..', '..', '.build', 'compiled', 'tracing', 'open.js');
  const program = `
    require(${JSON.stringify(open)}).openTracing('0').then((tracing) => {
      const loaded = Object.keys(require.cache).filter((file) => file.includes('opentelemetry'));
      console.log(JSON.stringify([tracing === undefined, loaded]));
    });`;
  expect(JSON.parse(execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' }))).toEqual([
    true,
    [],
  ]);
  const service = await startService();
  await send(service, 'POST', '/collections/c/points/search', { json: {}, headers: caller() });
  await until(() => service.requests.inProgress === 0);
  expect(service.logged.find(({ msg }) => msg === 'request')).not.toHaveProperty('trace_id');
  expect(exporter.getFinishedSpans()).toEqual([]);
  await service.close();
});
