import type { Logger } from 'pino';
import {
  EngineError,
  type Answer,
  type Engine,
  type EngineErrorCode,
  type EngineRequest,
  type IncomingBody,
} from '../engine/types';
import type { Admission, Reservation } from './admission';
import { isArrow, isJsonLines } from './content';
import { engineFailure } from './errors';
import { sentenceOf, type Dialect } from './dialect';
import type { Exchange } from './exchange';
import { LoneReads } from './lone-reads';
import type { Parameters } from './parameters';
import type { Refusal, RefusalReason } from './refusal';
import type { RequestCounts } from './request-counts';
import { COLLECTION_PARAMETER, type EngineRoute } from './route-table';
import type { Client } from './shares';
import type { AnswerAllowance } from './unread-answers';

/** A request that has passed the checks so far, with what it holds. */
export interface Work {
  readonly exchange: Exchange;
  readonly route: EngineRoute;
  readonly engine: Engine;
  readonly client: Client;
  readonly reservation: Reservation;
  /** The collection's name; as it was sent, where it cannot be decoded. */
  readonly collection: string | undefined;
  readonly body: IncomingBody | undefined;
}

/** Releases what a request holds that does not reach the engine. */
export function abandon({ body, reservation }: Work): void {
  body?.discard();
  reservation.release();
}

/**
 * The name that replaces one that cannot be decoded (C2.2): no collection can have it, whereas a collection may have the
 * undecoded text as its name.
 */
export const NO_COLLECTION = '/';

/** The errors of the engine that are refusals. */
const REASONS: Readonly<Partial<Record<EngineErrorCode, RefusalReason>>> = {
  overloaded: 'engine',
  rate_limited: 'rate',
  storage_full: 'storage_full',
  memory_limit: 'memory_limit',
};

/** What calls of the engine need. */
export interface EngineCallServices {
  readonly log: Logger;
  readonly admission: Admission;
  /** Requests that are refused for load are counted here. */
  readonly requests: Pick<RequestCounts, 'refused' | 'authenticated'>;
  readonly dialect: Dialect;
}

/** Hands requests that have passed all checks to the engine, and answers them. */
export class EngineCalls {
  readonly #lone = new LoneReads();

  /** `fault` answers an unexpected error. */
  constructor(
    private readonly services: EngineCallServices,
    private readonly fault: (exchange: Exchange, error: unknown) => void,
  ) {}

  /** Answers a request that is refused for load, and counts it. */
  refuse(exchange: Exchange, { reason, failure }: Refusal): void {
    this.services.requests.refused(reason);
    // A new connection would cost more than the rest of a short body, when there is too much to do already.
    exchange.skipsShortBody = reason === 'requests' || reason === 'request_share';
    exchange.fail(failure);
  }

  /** Executes a request and answers it. */
  execute(work: Work, parameters: Parameters): void {
    const { exchange, route, engine, client, reservation } = work;
    const room = this.services.admission.answerBudget(client);
    const traced = exchange.trace?.engine(route.operation, exchange.params[COLLECTION_PARAMETER]);
    const mayRunHere = this.#lone.begin();
    let answering: Promise<Answer>;
    try {
      const request = engineRequest(work, parameters, { room, mayRunHere }, this.services.dialect);
      answering = traced === undefined ? engine.execute(request) : traced.run(() => engine.execute(request));
    } catch (error) {
      this.#lone.end();
      traced?.end({ code: 'internal', status: 500 });
      abandon(work);
      this.fault(exchange, error);
      return;
    }
    const guarded = (step: () => void): void => {
      try {
        step();
      } catch (error) {
        reservation.release();
        this.fault(exchange, error);
      }
    };
    // Nothing handles the promise of `then`: errors of the callbacks are handled by `guarded`.
    void answering.then(
      (answer) => {
        this.#lone.end();
        traced?.end();
        guarded(() => {
          // The answer stays in memory, and counts, until it is written or the client has disconnected.
          const unread = reservation.answer(answer.length, () => {
            this.services.requests.refused('unread_answer');
            exchange.cut();
          });
          exchange.whenOver(() => {
            unread.release();
          });
          exchange.send(route.success ?? 200, answer, exchange.answerHeaders, () => {
            unread.progressed();
          });
        });
      },
      (error: unknown) => {
        this.#lone.end();
        guarded(() => {
          traced?.end(failureOf(error, route));
          this.#fail(work, error, room);
        });
      },
    );
  }

  #fail({ exchange, route, reservation, collection }: Work, error: unknown, room?: AnswerAllowance): void {
    reservation.release();
    if (!(error instanceof EngineError)) {
      this.fault(exchange, error);
      return;
    }
    if (error.code === 'answer_budget' && room !== undefined) {
      this.refuse(exchange, this.services.admission.refuseAnswer(room));
      return;
    }
    const reason = REASONS[error.code];
    if (reason !== undefined) {
      this.services.requests.refused(reason);
    }
    const details =
      exchange.params[COLLECTION_PARAMETER] === NO_COLLECTION && collection !== undefined
        ? { ...error.details, name: collection }
        : error.details;
    const sentence = sentenceOf(this.services.dialect, error.code, details, route.operation);
    const failure = engineFailure(error.code, details, route.failed, sentence);
    if (failure.status === 500) {
      const { requestId } = exchange;
      this.services.log.error(
        { requestId, route: route.path, code: error.code, detail: error.details.message },
        failure.message,
      );
    }
    exchange.fail(failure);
  }
}

/** What the span of a call says of its failure. */
function failureOf(
  error: unknown,
  { failed }: EngineRoute,
): { readonly code: string; readonly status: number } {
  return error instanceof EngineError
    ? { code: error.code, status: engineFailure(error.code, error.details, failed).status }
    : { code: 'internal', status: 500 };
}

function engineRequest(
  { exchange, route, engine, body, reservation }: Work,
  { wait, timeout, operationId, allow_partial: allowsPartial }: Parameters,
  { room, mayRunHere }: { readonly room: AnswerAllowance | undefined; readonly mayRunHere: boolean },
  { isLenient }: Dialect,
): EngineRequest {
  const rows = route.takesRows === true ? exchange.request.headers['content-type'] : undefined;
  const isCluster = engine.clusterReport !== undefined;
  // Every request has the same properties, also those that are undefined: V8 reads them faster then.
  return {
    operation: route.operation,
    arrivedAt: exchange.arrivedAt,
    collection: exchange.params[COLLECTION_PARAMETER],
    target: route.target === undefined ? undefined : exchange.params[route.target],
    wait,
    timeoutSeconds: timeout,
    answerBytes: room?.bytes,
    operationId,
    isLenient: isLenient ? true : undefined,
    isArrow: rows === undefined ? undefined : isArrow(rows),
    isLines: rows === undefined ? undefined : isJsonLines(rows),
    mayRunHere,
    limits: exchange.limits,
    caller: exchange.credential,
    readAfter: isCluster ? positionOf(exchange) : undefined,
    written: isCluster
      ? (position) => {
          exchange.answerHeaders = { 'KithDB-Position': position };
        }
      : undefined,
    allowsPartial,
    leftOut: isCluster
      ? (shards) => {
          exchange.answerHeaders = { 'KithDB-Missing-Shards': shards.join(', ') };
        }
      : undefined,
    body,
    hold: (bytes) => reservation.grow?.(bytes) === undefined,
    profiled: (profile) => {
      exchange.search = profile;
    },
    // Also called when the answer has been written, when there is nothing left to cancel.
    whenAbandoned: (callback) => {
      exchange.whenOver(callback);
    },
  };
}

/** The positions that a read must not be behind. Node joins several headers of that name with commas. */
function positionOf({ request }: Exchange): string | undefined {
  const sent = request.headers['kithdb-position'];
  return Array.isArray(sent) ? sent.join(', ') : sent;
}
