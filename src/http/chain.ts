import type { Logger } from 'pino';
import {
  EngineError,
  type Answer,
  type Engine,
  type EngineRequest,
  type IncomingBody,
} from '../engine/types';
import type { Admission, Reservation } from './admission';
import {
  authorize,
  needsIdentity,
  type Authenticator,
  type Identity,
  type OriginGuard,
} from './authorization';
import { BodyReader, checkBodyHeaders, type BodyOutcome, type BodyPace } from './body';
import {
  badRequest,
  bodyTooLarge,
  engineFailure,
  forbidden,
  notImplemented,
  notReady,
  overloaded,
  shuttingDown,
  unexpected,
  type Failure,
} from './errors';
import type { Exchange } from './exchange';
import type { Deferred } from './deferred';
import type { Lifecycle } from './lifecycle';
import { ParameterValidator, type ParameterResult, type Parameters } from './parameters';
import type { PathParams } from './target';
import type { EngineRoute, ReportRoute, Route } from './route-table';

/** What the chain of checks needs. */
export interface ChainServices {
  readonly auth: Deferred<Authenticator>;
  readonly guard: OriginGuard;
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
  readonly admission: Admission;
  readonly limits: {
    /** Largest body of a data endpoint (C2.7). */
    readonly bodyBytes: number;
    /** Largest body of an endpoint under `/auth`. */
    readonly authBodyBytes: number;
  };
  readonly bodyPace: BodyPace;
}

type Verdict = Failure | undefined;

/**
 * The checks of C1.6 in their order, after a route was found: origin, authentication, permission, 501 group,
 * readiness, body limits, parameters, engine. Both lanes call it, so there is one order and one wording. It runs
 * synchronously where it does not have to wait.
 */
export class Chain {
  readonly #bodies: BodyReader;
  readonly #parameters = new ParameterValidator();

  constructor(private readonly services: ChainServices) {
    const { limits } = services;
    this.#bodies = new BodyReader(limits.bodyBytes, services.bodyPace);
  }

  /**
   * Runs the checks and then the route: answers the exchange, or calls `pass` for a route under `/auth`, whose own
   * handlers answer.
   */
  run(exchange: Exchange, route: Route, params: PathParams, pass?: () => void): void {
    exchange.route = route;
    const proceed = (refused: Verdict): void => {
      if (refused !== undefined) {
        exchange.fail(refused);
      } else {
        this.#dispatch(exchange, route, params, pass);
      }
    };
    try {
      const refused = this.#admit(exchange, route);
      if (refused instanceof Promise) {
        refused.then(proceed).catch((error: unknown) => {
          this.fault(exchange, error);
        });
      } else {
        proceed(refused);
      }
    } catch (error) {
      this.fault(exchange, error);
    }
  }

  /** Answers an unexpected error with a generic 500, and logs its cause. */
  fault(exchange: Exchange, error: unknown): void {
    this.services.log.error({ err: error, requestId: exchange.requestId }, 'request failed unexpectedly');
    try {
      exchange.fail(unexpected());
    } catch {
      exchange.response.destroy();
    }
  }

  /** Everything up to and including the permission. */
  #admit(exchange: Exchange, route: Route): Verdict | Promise<Verdict> {
    if (route.kind === 'plain') {
      return undefined;
    }
    if (this.services.lifecycle.phase === 'stopping') {
      return shuttingDown();
    }
    const auth = this.services.auth.current;
    if (auth === undefined) {
      return this.services.auth.ready.then((opened) => this.#authenticate(exchange, route, opened));
    }
    return this.#authenticate(exchange, route, auth);
  }

  #authenticate(exchange: Exchange, route: Route, auth: Authenticator): Verdict | Promise<Verdict> {
    const { guard } = this.services;
    const { request } = exchange;
    const refused =
      guard.refuse(request, auth.enabled) ??
      (route.permission === 'local' ? guard.refuseRemote(request) : undefined);
    if (refused !== undefined) {
      return forbidden(refused);
    }
    if (!needsIdentity(route.permission, auth.enabled)) {
      exchange.principal = route.permission === 'none' || route.permission === 'local' ? 'none' : 'anonymous';
      return undefined;
    }
    const { authorization, 'api-key': apiKey } = request.headers;
    const decide = (identity: Identity | null): Verdict => {
      exchange.principal = identity?.kind ?? 'none';
      return authorize(route.permission, identity, auth.enabled);
    };
    const identity = auth.identify(authorization, typeof apiKey === 'string' ? apiKey : undefined);
    return identity instanceof Promise ? identity.then(decide) : decide(identity);
  }

  #dispatch(exchange: Exchange, route: Route, params: PathParams, pass: (() => void) | undefined): void {
    switch (route.kind) {
      case 'plain':
        route.answer(exchange);
        break;
      case 'report':
        this.#report(exchange, route);
        break;
      case 'unimplemented':
        exchange.fail(notImplemented(route.group));
        break;
      case 'auth':
        this.#passAuth(exchange, params, pass);
        break;
      case 'engine':
        this.#readBody(exchange, route, params);
        break;
    }
  }

  #report(exchange: Exchange, route: ReportRoute): void {
    route.report().then(
      ({ contentType, text }) => {
        exchange.send(200, Buffer.from(text), { 'Content-Type': contentType });
      },
      (error: unknown) => {
        this.fault(exchange, error);
      },
    );
  }

  /** Hands a request under `/auth` on to its own handlers, which read the body. */
  #passAuth(exchange: Exchange, params: PathParams, pass: (() => void) | undefined): void {
    const { authBodyBytes } = this.services.limits;
    if ((exchange.announcedBytes ?? 0) > authBodyBytes) {
      exchange.fail(bodyTooLarge(authBodyBytes));
    } else if (params.undecodable.length > 0) {
      exchange.fail(malformedPath());
    } else {
      exchange.params = params.values;
      if (exchange.expectsContinue) {
        exchange.response.writeContinue();
      }
      pass?.();
    }
  }

  #readBody(exchange: Exchange, route: EngineRoute, params: PathParams): void {
    const { lifecycle, limits } = this.services;
    const { engine } = lifecycle;
    if (engine === undefined) {
      exchange.fail(notReady());
      return;
    }
    const refused = checkBodyHeaders(exchange, limits.bodyBytes, route.body);
    if (refused !== undefined) {
      exchange.fail(refused);
      return;
    }
    const readsBody = route.body && exchange.announcedBytes !== 0;
    const reservation = this.services.admission.reserve(readsBody ? (exchange.announcedBytes ?? 0) : 0);
    if (typeof reservation === 'string') {
      exchange.fail(overloaded(reservation));
      return;
    }
    const proceed = (outcome: BodyOutcome | undefined): void => {
      if (outcome === 'gone') {
        reservation.release();
      } else if (outcome !== undefined && 'failure' in outcome) {
        reservation.release();
        exchange.fail(outcome.failure);
      } else {
        const collection = params.values['collection'];
        this.#checkParameters(
          { exchange, route, engine, reservation, collection, body: outcome?.body },
          params,
        );
      }
    };
    if (readsBody) {
      this.#bodies.read(exchange, engine, reservation, proceed);
    } else {
      proceed(undefined);
    }
  }

  #checkParameters(work: Work, params: PathParams): void {
    const { exchange, route } = work;
    const refuse = (failure: Failure): void => {
      abandon(work);
      exchange.fail(failure);
    };
    const { values, undecodable } = params;
    if (undecodable.some((name) => name !== 'collection' || route.createsCollection === true)) {
      refuse(malformedPath());
      return;
    }
    exchange.params = undecodable.length === 0 ? values : { ...values, collection: NO_COLLECTION };
    const result = this.#parameters.validate(route.parameters, exchange.queryString);
    const proceed = (validated: ParameterResult): void => {
      if (validated.failure !== undefined) {
        refuse(validated.failure);
      } else {
        this.#execute(work, validated.parameters);
      }
    };
    if (result instanceof Promise) {
      result.then(proceed).catch((error: unknown) => {
        abandon(work);
        this.fault(exchange, error);
      });
    } else {
      proceed(result);
    }
  }

  #execute(work: Work, parameters: Parameters): void {
    const { exchange, engine, reservation } = work;
    let answering: Promise<Answer>;
    try {
      answering = engine.execute(engineRequest(work, parameters));
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
          reservation.exchange(answer.length);
          exchange.whenOver(reservation.release);
          exchange.send(200, answer);
        });
      },
      (error: unknown) => {
        guarded(() => {
          this.#fail(work, error);
        });
      },
    );
  }

  #fail({ exchange, route, reservation, collection }: Work, error: unknown): void {
    reservation.release();
    if (!(error instanceof EngineError)) {
      this.fault(exchange, error);
      return;
    }
    const details =
      exchange.params['collection'] === NO_COLLECTION && collection !== undefined
        ? { ...error.details, name: collection }
        : error.details;
    const failure = engineFailure(error.code, details, route.failed);
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

/** A request that has passed the checks so far, with what it holds. */
interface Work {
  readonly exchange: Exchange;
  readonly route: EngineRoute;
  readonly engine: Engine;
  readonly reservation: Reservation;
  /** The collection's name; as it was sent, where it cannot be decoded. */
  readonly collection: string | undefined;
  readonly body: IncomingBody | undefined;
}

/** Releases what a request holds that does not reach the engine. */
function abandon({ body, reservation }: Work): void {
  body?.discard();
  reservation.release();
}

/**
 * The name that replaces one that cannot be decoded (C2.2): no collection can have it, whereas a collection may have the
 * undecoded text as its name.
 */
const NO_COLLECTION = '/';

function malformedPath(): Failure {
  return badRequest('Malformed percent-encoding in the path');
}

function engineRequest({ exchange, route, body }: Work, { wait, timeout }: Parameters): EngineRequest {
  return {
    operation: route.operation,
    arrivedAt: exchange.arrivedAt,
    collection: exchange.params['collection'],
    target: route.target === undefined ? undefined : exchange.params[route.target],
    wait,
    timeoutSeconds: timeout,
    body,
  };
}
