import { once } from 'node:events';
import type { IncomingHttpHeaders, Server } from 'node:http';
import { request as httpRequest } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import pino, { type Logger } from 'pino';
import type { Engine } from '../../src/engine/types';
import { DEFAULT_PACE } from '../../src/http/body';
import { ClientAddresses } from '../../src/http/client-address';
import { isArrow, isJsonLines } from '../../src/http/content';
import type { TlsMaterial } from '../../src/http/certificate';
import { createHttpServer, DEFAULT_SERVER_LIMITS, type ServerLimits } from '../../src/http/http-server';
import { Deferred } from '../../src/http/deferred';
import { DIALECTS } from '../../src/http/dialect';
import { Lifecycle } from '../../src/http/lifecycle';
import { httpListeners, type HttpServices } from '../../src/http/listener';
import {
  DEFAULT_ADMISSION_LIMITS,
  LocalAdmission,
  type Admission,
  type AdmissionLimits,
} from '../../src/http/admission';
import { LocalRequestCounts, type RequestCounts } from '../../src/http/request-counts';
import { allRoutes } from '../../src/routes';
import type { Route } from '../../src/http/route-table';
import { SnapshotService } from '../../src/snapshots/service';
import { SnapshotStore } from '../../src/snapshots/store';
import { description, mustBeDescribed, mustBeFailure } from '../openapi/description';
import { FakeAuth, fakeAuthRoutes, fakeGuard } from './fake-auth';
import { FakeEngine } from './fake-engine';

/** A listening service over fakes. */
export interface Service {
  readonly engine: FakeEngine;
  readonly auth: FakeAuth;
  readonly lifecycle: Lifecycle;
  readonly requests: RequestCounts;
  readonly admission: Admission;
  readonly routes: readonly Route[];
  readonly server: Server;
  readonly port: number;
  /** Whether what the engine answers is made up, and not what the description has. */
  readonly fake: boolean;
  /** The lines of the log so far. */
  readonly logged: Record<string, unknown>[];
  close(): Promise<void>;
}

/** Nothing can be made below a file. */
const NO_FOLDER = join(__filename, 'none');

export const BODY_LIMIT = 4096;

/** Starts a service whose engine is ready, unless `starting`. */
export async function startService(
  overrides: Partial<Omit<HttpServices, 'limits'>> & {
    starting?: boolean;
    /** In place of the fake one. */
    realEngine?: Engine;
    limits?: Partial<HttpServices['limits']>;
    /** What may be in flight. */
    admits?: Partial<AdmissionLimits>;
    server?: Partial<ServerLimits>;
    tls?: TlsMaterial;
    /** How long a text of the metrics is kept; not at all when absent. */
    metricsKeptMs?: number;
  } = {},
): Promise<Service> {
  const engine = new FakeEngine();
  const auth = new FakeAuth();
  const lifecycle = new Lifecycle();
  if (overrides.starting !== true) {
    lifecycle.becomeReady(overrides.realEngine ?? engine);
  }
  const logged: Record<string, unknown>[] = [];
  const log: Logger = pino({ level: 'info' }, { write: (line: string) => logged.push(JSON.parse(line)) });
  const requests = new LocalRequestCounts();
  const dialect = overrides.dialect ?? DIALECTS.specification;
  const routes = allRoutes({
    authRoutes: fakeAuthRoutes,
    lifecycle,
    requests,
    kithdbVersion: '0.1.0',
    metrics: { keptMs: overrides.metricsKeptMs ?? 0 },
    dialect,
    snapshots: new SnapshotService(new SnapshotStore(NO_FOLDER, { maxSnapshots: 1, maxSnapshotBytes: 1 })),
  });
  const services: HttpServices = {
    routes,
    requests,
    admission: new LocalAdmission({
      ...DEFAULT_ADMISSION_LIMITS,
      requests: 64,
      bodyBytes: 4 * BODY_LIMIT,
      ...overrides.admits,
    }),
    addresses: new ClientAddresses([]),
    auth: Deferred.of(auth),
    guard: fakeGuard,
    lifecycle,
    log,
    bodyPace: DEFAULT_PACE,
    corsOrigins: [],
    dialect,
    ...overrides,
    limits: {
      bodyBytes: BODY_LIMIT,
      authBodyBytes: 1024,
      ...overrides.limits,
    },
  };
  const server = createHttpServer(
    httpListeners(services),
    { ...DEFAULT_SERVER_LIMITS, ...overrides.server },
    overrides.tls,
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    engine,
    auth,
    lifecycle,
    requests,
    admission: services.admission,
    routes,
    server,
    port: (server.address() as AddressInfo).port,
    fake: overrides.realEngine === undefined,
    logged,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** One answer, whole. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: any; // eslint-disable-line @typescript-eslint/no-explicit-any -- tests check its shape themselves
}

/** What a request carries besides its method and its path. */
export interface Sent {
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  readonly json?: unknown;
}

/**
 * Sends one request on a connection of its own; the path goes out as it is written. What comes back must be as
 * `openapi.yaml` describes it.
 */
export async function send(
  service: { readonly port: number; readonly fake?: boolean },
  method: string,
  path: string,
  options: Sent = {},
): Promise<Answer> {
  const answer = await exchange(service, method, path, options);
  if (service.fake !== true) {
    mustBeDescribed({ method, path, ...answer });
    mustHaveBeenDescribed(method, path, options, answer);
  } else if (answer.status >= 400) {
    mustBeFailure({ method, path, ...answer });
  }
  return answer;
}

/** What the service has taken must be a body that it is described to take. */
function mustHaveBeenDescribed(
  method: string,
  path: string,
  { json, body, headers }: Sent,
  answer: Answer,
): void {
  // Of a body of another type no more than the type is described.
  const type = headers?.['content-type'];
  if (isArrow(type) || isJsonLines(type)) return;
  const operation = description().find(method, path);
  if (answer.status !== 200 || operation?.body === undefined || (json ?? body) === undefined) return;
  // What the dialect `qdrant` passes over, and says so, is not described.
  if (answer.body?.warnings !== undefined) return;
  // A field that is null is absent, known or not (C1.10).
  const taken: unknown = JSON.parse(
    json === undefined ? String(body) : JSON.stringify(json),
    function (_key, value) {
      return value === null && !Array.isArray(this) ? undefined : value;
    },
  );
  const fault = description().bodyFault(operation, taken);
  if (fault !== undefined) {
    throw new Error(`${method} ${path} took a body that openapi.yaml does not describe: ${fault}`);
  }
}

function exchange(
  service: { readonly port: number },
  method: string,
  path: string,
  options: Sent,
): Promise<Answer> {
  const body = options.json === undefined ? options.body : JSON.stringify(options.json);
  const headers: Record<string, string> = { ...options.headers };
  if (body !== undefined) {
    if (headers['transfer-encoding'] === undefined) {
      headers['content-length'] ??= String(Buffer.byteLength(body));
    }
    headers['content-type'] ??= 'application/json';
  }
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port: service.port, method, path, headers, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const isJson = text !== '' && (response.headers['content-type'] ?? '').includes('json');
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            body: isJson ? JSON.parse(text) : undefined,
          });
        });
        response.on('error', reject);
      },
    );
    request.on('error', reject);
    if (body !== undefined && headers['transfer-encoding'] !== undefined) {
      // In pieces, each a chunk of its own.
      request.write(body.slice(0, 10));
      request.end(body.slice(10));
    } else {
      request.end(body);
    }
  });
}

/** Writes raw bytes and gives back everything the server sent until it closed the connection. */
export async function sendRaw(service: { readonly port: number }, ...pieces: string[]): Promise<string> {
  const socket = connect(service.port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  for (const piece of pieces) {
    socket.write(piece, 'latin1');
  }
  await once(socket, 'close');
  return Buffer.concat(chunks).toString();
}

/** The path of a route with something in place of each parameter. */
export function concretePath(route: { readonly path: string }): string {
  return route.path
    .replace(':collection_name', 'c')
    .replace(':snapshot_name', 's')
    .replace(':field_name', 'f')
    .replace(':vector_name', 'v')
    .replace(':id', '7');
}
