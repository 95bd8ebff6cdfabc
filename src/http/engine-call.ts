import type { Logger } from 'pino';
import {
  EngineError,
  type Answer,
  type Engine,
  type EngineRequest,
  type IncomingBody,
} from '../engine/types';
import type { Admission, Reservation } from './admission';
import { engineFailure } from './errors';
import { sentenceOf, type Dialect } from './dialect';
import type { Exchange } from './exchange';
import type { Parameters } from './parameters';
import type { Refusal } from './refusal';
import type { RequestCounts } from './request-counts';
import { COLLECTION_PARAMETER, type EngineRoute } from './route-table';
import type { Client } from './shares';
import type { AnswerRoom } from './unread-answers';

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
    const { exchange, engine, client, reservation } = work;
    const room = this.services.admission.answerRoom(client);
    let answering: Promise<Answer>;
    try {
      answering = engine.execute(engineRequest(work, parameters, room, this.services.dialect));
    } catch (error) {
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
        guarded(() => {
          // The answer stays in memory, and counts, until it is written or the client has disconnected.
          const unread = reservation.answer(answer.length, () => {
            this.services.requests.refused('unread_answer');
            exchange.cut();
          });
          exchange.whenOver(() => {
            unread.release();
          });
          exchange.send(200, answer, undefined, () => {
            unread.progressed();
          });
        });
      },
      (error: unknown) => {
        guarded(() => {
          this.#fail(work, error, room);
        });
      },
    );
  }

  #fail({ exchange, route, reservation, collection }: Work, error: unknown, room?: AnswerRoom): void {
    reservation.release();
    if (!(error instanceof EngineError)) {
      this.fault(exchange, error);
      return;
    }
    if (error.code === 'answer_room' && room !== undefined) {
      this.refuse(exchange, this.services.admission.refuseAnswer(room));
      return;
    }
    if (error.code === 'overloaded') {
      this.services.requests.refused('engine');
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

function engineRequest(
  { exchange, route, body, reservation }: Work,
  { wait, timeout, operationId }: Parameters,
  room: AnswerRoom | undefined,
  { isLenient }: Dialect,
): EngineRequest {
  return {
    operation: route.operation,
    arrivedAt: exchange.arrivedAt,
    collection: exchange.params[COLLECTION_PARAMETER],
    target: route.target === undefined ? undefined : exchange.params[route.target],
    wait,
    timeoutSeconds: timeout,
    answerBytes: room?.bytes,
    operationId,
    ...(isLenient && { isLenient }),
    ...(exchange.limits !== undefined && { limits: exchange.limits }),
    ...(exchange.credential !== undefined && { caller: exchange.credential }),
    body,
    hold: (bytes) => reservation.grow?.(bytes) === undefined,
    // Also called when the answer has been written, when there is nothing left to cancel.
    whenAbandoned: (callback) => {
      exchange.whenOver(callback);
    },
  };
}
