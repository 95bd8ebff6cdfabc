import type { Logger } from 'pino';
import { EngineError, type IncomingBody, type Operation } from '../../engine/types';
import { GatheredBody } from '../../http/body';
import { announcedLength } from '../../http/content';
import { engineErrorJson, PeerRefusal, type PeerRefusalCode } from './errors';
import type { PeerExchange } from './exchange';
import type { DigestQuestion, PeerHandlers, ReplicaRead } from './handlers';
import { isCount, isObject } from '../json';
import type { PeerLimits } from './limits';
import { BadPeerRequest, POSITION, readOfHeaders } from './read-headers';

/** What the routes need. */
export interface PeerRouteServices {
  readonly handlers: PeerHandlers;
  readonly operations: ReadonlySet<Operation>;
  readonly limits: PeerLimits;
  /** Takes bytes of what requests may hold together; false where there are none. */
  readonly hold: (bytes: number) => boolean;
  readonly log: Pick<Logger, 'error'>;
}

type Route = (exchange: PeerExchange, services: PeerRouteServices) => Promise<void>;

/** All that nodes ask one another. */
const ROUTES: Readonly<Record<string, Route>> = {
  'POST /execute': execute,
  'GET /positions': positions,
  'POST /digest': digest,
};

const MAX_QUESTION_BYTES = 4096;

const STATUSES: Readonly<Record<PeerRefusalCode, number>> = {
  map_version: 409,
  behind: 503,
  busy: 503,
  closing: 503,
};

/** Answers a request; never rejects. */
export async function answer(exchange: PeerExchange, services: PeerRouteServices): Promise<void> {
  try {
    const { method, url } = exchange.request;
    const name = `${method ?? ''} ${url ?? ''}`;
    const route = Object.hasOwn(ROUTES, name) ? ROUTES[name] : undefined;
    if (route === undefined) throw new BadPeerRequest(404, 'there is no such route');
    await route(exchange, services);
  } catch (error) {
    if (!exchange.signal.aborted) fail(exchange, error, services);
  }
}

function fail(exchange: PeerExchange, error: unknown, { log }: PeerRouteServices): void {
  if (error instanceof EngineError) {
    exchange.sendJson(422, engineErrorJson(error));
  } else if (error instanceof PeerRefusal) {
    const { code, mapVersion } = error;
    exchange.sendJson(STATUSES[code], { kind: 'refusal', code, map_version: mapVersion });
  } else if (error instanceof BadPeerRequest) {
    exchange.sendJson(error.status, { kind: 'malformed', what: error.what });
  } else {
    log.error({ err: error, route: exchange.request.url }, 'a request of another node failed');
    exchange.sendJson(500, { kind: 'internal' });
  }
}

async function execute(exchange: PeerExchange, services: PeerRouteServices): Promise<void> {
  const { handlers, limits } = services;
  const read = readOfHeaders(exchange.request.headers, services.operations);
  const bytes = lengthOf(exchange, limits.maxBodyBytes);
  // All of it at once: half a body is of no use.
  if (!services.hold(bytes)) throw new PeerRefusal('busy');
  const gathered = new GatheredBody(handlers.engine, bytes, limits.maxBodyBytes, () => undefined);
  let position: number;
  try {
    await exchange.receive((piece) => void gathered.add(piece));
    position = await handlers.admit(read, exchange.signal);
    exchange.signal.throwIfAborted();
  } catch (error) {
    gathered.discard();
    throw error;
  }
  const result = await executeNow(exchange, handlers, { read, body: gathered.take() });
  exchange.send(200, result, { [POSITION]: String(position) });
}

function executeNow(
  exchange: PeerExchange,
  { engine }: PeerHandlers,
  { read, body }: { readonly read: ReplicaRead; readonly body: IncomingBody | undefined },
): ReturnType<PeerHandlers['engine']['execute']> {
  const leftMs = read.timeoutMs - (performance.now() - exchange.arrivedAt);
  return engine.execute({
    operation: read.operation,
    arrivedAt: exchange.arrivedAt,
    collection: read.collection,
    target: read.target,
    timeoutSeconds: Math.max(1, leftMs) / 1000,
    answerBytes: read.answerBytes,
    isLenient: read.isLenient,
    dryRun: read.dryRun,
    strictScope: read.strictScope,
    ...(read.operationId !== undefined && { operationId: read.operationId, position: read.position }),
    packing: read.packing,
    isArrow: read.isArrow,
    isLines: read.isLines,
    limits: read.limits,
    caller: read.caller,
    body,
    whenAbandoned: (callback) => {
      exchange.signal.addEventListener('abort', callback, { once: true });
    },
  });
}

async function positions(exchange: PeerExchange, { handlers }: PeerRouteServices): Promise<void> {
  lengthOf(exchange, 0);
  exchange.sendJson(200, await handlers.positions());
}

async function digest(exchange: PeerExchange, { handlers }: PeerRouteServices): Promise<void> {
  lengthOf(exchange, MAX_QUESTION_BYTES);
  const pieces: Buffer[] = [];
  await exchange.receive((piece) => pieces.push(piece));
  const question = readQuestion(Buffer.concat(pieces).toString('utf8'));
  exchange.sendJson(200, await handlers.digest(question, exchange.signal));
}

function readQuestion(json: string): DigestQuestion {
  let sent: unknown;
  try {
    sent = JSON.parse(json);
  } catch {
    // It is refused below.
  }
  if (isObject(sent)) {
    const { collection, position, mapVersion } = sent;
    if (typeof collection === 'string' && isCount(position) && isCount(mapVersion)) {
      return { collection, position, mapVersion };
    }
  }
  throw new BadPeerRequest(400, 'the body is no question for a digest');
}

/** The length of the body. @throws BadPeerRequest where it is not announced, or too large. */
function lengthOf(exchange: PeerExchange, mostBytes: number): number {
  const bytes = announcedLength(exchange.request);
  if (bytes === undefined) throw new BadPeerRequest(411, 'the body has no length');
  if (bytes > mostBytes) throw new BadPeerRequest(413, `the body has more than ${mostBytes} bytes`);
  return bytes;
}
