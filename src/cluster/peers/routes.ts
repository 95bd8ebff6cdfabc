import type { Logger } from 'pino';
import { EngineError, type Answer, type IncomingBody, type Operation } from '../../engine/types';
import { GatheredBody } from '../../http/body';
import { announcedLength } from '../../http/content';
import { isCount, objectIn } from '../json';
import { engineErrorJson, PeerRefusal, type PeerRefusalCode } from './errors';
import type { PeerExchange } from './exchange';
import type { DigestQuestion, PeerHandlers, ReplicaRead } from './handlers';
import type { PeerLimits } from './limits';
import { BadPeerRequest, POSITION, readOfHeaders } from './read-headers';

/** What answering needs. */
export interface PeerServices {
  readonly handlers: PeerHandlers;
  readonly operations: ReadonlySet<Operation>;
  readonly limits: PeerLimits;
  readonly log: Pick<Logger, 'error' | 'warn'>;
}

/** The same with what one question may take: `hold` takes bytes of what all may hold together; false where there are none. */
export interface QuestionServices extends PeerServices {
  readonly hold: (bytes: number) => boolean;
}

/** One read of another node, apart from how it came. */
export interface ReadQuestion {
  readonly read: ReplicaRead;
  readonly arrivedAt: number;
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
  /** Whether a short one may run on the calling thread; not where absent. */
  readonly mayRunHere?: boolean;
}

type Route = (exchange: PeerExchange, services: QuestionServices) => Promise<void>;

/** All that nodes ask one another in requests of HTTP. Reads mostly come in frames. */
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
export async function answer(exchange: PeerExchange, services: QuestionServices): Promise<void> {
  try {
    const { method, url } = exchange.request;
    const name = `${method ?? ''} ${url ?? ''}`;
    const route = Object.hasOwn(ROUTES, name) ? ROUTES[name] : undefined;
    if (route === undefined) throw new BadPeerRequest(404, 'there is no such route');
    await route(exchange, services);
  } catch (error) {
    if (exchange.signal.aborted) return;
    const { status, reason } = failureOf(error, exchange.request.url, services.log);
    exchange.sendJson(status, reason);
  }
}

/** The status and the reason with which a question fails; what is not expected is logged. */
export function failureOf(
  error: unknown,
  route: string | undefined,
  log: Pick<Logger, 'error'>,
): { readonly status: number; readonly reason: object } {
  if (error instanceof EngineError) return { status: 422, reason: engineErrorJson(error) };
  if (error instanceof PeerRefusal) {
    const { code, mapVersion } = error;
    return { status: STATUSES[code], reason: { kind: 'refusal', code, map_version: mapVersion } };
  }
  if (error instanceof BadPeerRequest) {
    return { status: error.status, reason: { kind: 'malformed', what: error.what } };
  }
  log.error({ err: error, route }, 'a request of another node failed');
  return { status: 500, reason: { kind: 'internal' } };
}

async function execute(exchange: PeerExchange, services: QuestionServices): Promise<void> {
  const { handlers, limits } = services;
  const { arrivedAt, signal } = exchange;
  const read = readOfHeaders(exchange.request.headers, services.operations);
  const bytes = lengthOf(exchange, limits.maxBodyBytes);
  // All of it at once: half a body is of no use.
  if (!services.hold(bytes)) throw new PeerRefusal('busy');
  const gathered = new GatheredBody(handlers.engine, bytes, limits.maxBodyBytes, () => undefined);
  let position: number;
  try {
    await exchange.receive((piece) => void gathered.add(piece));
    position = await handlers.admit(read, signal);
    signal.throwIfAborted();
  } catch (error) {
    gathered.discard();
    throw error;
  }
  const result = await executeNow({ read, arrivedAt, signal }, handlers, gathered.take());
  exchange.send(200, result, { [POSITION]: String(position) });
}

/** Executes a read that was admitted. */
export function executeNow(
  { read, arrivedAt, signal, mayRunHere }: ReadQuestion,
  { engine }: PeerHandlers,
  body: IncomingBody | undefined,
): Promise<Answer> {
  const leftMs = read.timeoutMs - (performance.now() - arrivedAt);
  return engine.execute({
    operation: read.operation,
    arrivedAt,
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
    mayRunHere,
    whenAbandoned: (callback) => {
      signal.addEventListener('abort', callback, { once: true });
    },
  });
}

async function positions(exchange: PeerExchange, { handlers }: QuestionServices): Promise<void> {
  lengthOf(exchange, 0);
  exchange.sendJson(200, await handlers.positions());
}

async function digest(exchange: PeerExchange, { handlers }: QuestionServices): Promise<void> {
  lengthOf(exchange, MAX_QUESTION_BYTES);
  const pieces: Buffer[] = [];
  await exchange.receive((piece) => pieces.push(piece));
  const question = readQuestion(Buffer.concat(pieces));
  exchange.sendJson(200, await handlers.digest(question, exchange.signal));
}

function readQuestion(json: Buffer): DigestQuestion {
  const sent = objectIn(json);
  if (sent !== undefined) {
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
