import type { IncomingBody } from '../engine/types';
import type { Reservation } from './admission';
import {
  authorize,
  credentialOf,
  needsIdentity,
  repeatsCredential,
  type Authenticator,
  type Identity,
  type OriginGuard,
} from './authorization';
import { AuditedBody } from './audited-body';
import { BodyReader, checkBodyHeaders, type BodyOutcome, type BodyPace } from './body';
import {
  authenticationClosed,
  authenticationOutdated,
  badRequest,
  bodyTooLarge,
  forbidden,
  notImplemented,
  notReady,
  shuttingDown,
  unexpected,
  type Failure,
} from './errors';
import type { Exchange } from './exchange';
import type { Deferred } from './deferred';
import { abandon, EngineCalls, NO_COLLECTION, type EngineCallServices, type Work } from './engine-call';
import type { Lifecycle } from './lifecycle';
import { ParameterValidator, withOperationId, type ParameterResult, type ValidateQuery } from './parameters';
import { networkOf, type ClientAddresses } from './client-address';
import type { Client } from './shares';
import { StartQueue } from './start-queue';
import type { RequestLogOptions } from './request-log';
import type { PathParams } from './target';
import {
  COLLECTION_PARAMETER,
  type EngineRoute,
  type ReportRoute,
  type Route,
  type ServiceRoute,
} from './route-table';
import { ServiceCalls } from './service-route';
import { refuseByLimits } from './token-limits';

/** What the chain of checks needs. */
export interface ChainServices extends EngineCallServices {
  readonly auth: Deferred<Authenticator>;
  readonly guard: OriginGuard;
  readonly lifecycle: Lifecycle;
  /** The addresses that requests count for. */
  readonly addresses: Pick<ClientAddresses, 'of'>;
  readonly limits: {
    /** Largest body of a data endpoint (C2.7). */
    readonly bodyBytes: number;
    /** Largest body of an endpoint under `/auth`. */
    readonly authBodyBytes: number;
  };
  readonly bodyPace: BodyPace;
  readonly validateQuery: ValidateQuery;
  /** Which requests are logged beside those that the level of the log has. */
  readonly requestLog?: RequestLogOptions;
}

/** A request that may be admitted. */
type Admissible = Pick<Work, 'exchange' | 'route' | 'engine' | 'client'>;

type Verdict = Failure | undefined;

/** How long a request waits for authentication to open before it is a 412. */
const AUTHENTICATION_OPENS_MS = 1_000;

/**
 * The checks of C1.6 in their order, after a route was found: origin, authentication, permission, 501 group,
 * readiness, body limits, parameters, engine. Both lanes call it, so there is one order and one wording. It runs
 * synchronously where it does not have to wait.
 */
export class Chain {
  readonly #bodies: BodyReader;
  readonly #calls: EngineCalls;
  readonly #services: ServiceCalls;
  readonly #parameters: ParameterValidator;
  readonly #starts = new StartQueue();

  constructor(private readonly services: ChainServices) {
    const { admission, limits, bodyPace, validateQuery } = services;
    this.#parameters = new ParameterValidator(validateQuery);
    this.#bodies = new BodyReader(admission, limits.bodyBytes, bodyPace);
    const fault = (exchange: Exchange, error: unknown): void => {
      this.fault(exchange, error);
    };
    this.#calls = new EngineCalls(services, fault);
    this.#services = new ServiceCalls(services, fault);
  }

  /**
   * Runs the checks and then the route: answers the exchange, or calls `pass` for a route whose own
   * handlers answer.
   */
  run(exchange: Exchange, route: Route, params: PathParams, pass?: () => void): void {
    exchange.route = route;
    if (params.undecodable.length === 0) {
      // Who was refused also is on record with what was asked for.
      exchange.params = params.values;
    }
    const proceed = (refused: Verdict): void => {
      if (refused !== undefined) {
        exchange.fail(refused);
      } else {
        this.#dispatch(exchange, route, params, pass);
      }
    };
    try {
      const refused = this.#admit(exchange, route, params);
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
  #admit(exchange: Exchange, route: Route, params: PathParams): Verdict | Promise<Verdict> {
    if (route.kind === 'plain') {
      return undefined;
    }
    if (this.services.lifecycle.phase === 'stopping') {
      return shuttingDown();
    }
    const auth = this.services.auth.current;
    if (auth === undefined) {
      return this.#admitWhenOpened(exchange, route, params);
    }
    return this.#authenticate(exchange, route, params, auth);
  }

  /** Authentication opens within milliseconds, but at a node of a cluster that waits for its log servers (C10.1). */
  async #admitWhenOpened(exchange: Exchange, route: Route, params: PathParams): Promise<Verdict> {
    const { auth, lifecycle } = this.services;
    const opened = await auth.within(AUTHENTICATION_OPENS_MS).catch((error: unknown) => {
      if (lifecycle.phase !== 'stopping') throw error;
    });
    if (lifecycle.phase === 'stopping') return shuttingDown();
    return opened === undefined ? notReady() : this.#authenticate(exchange, route, params, opened);
  }

  #authenticate(
    exchange: Exchange,
    route: Route,
    params: PathParams,
    auth: Authenticator,
  ): Verdict | Promise<Verdict> {
    if (auth.isClosed) {
      return authenticationClosed();
    }
    if (auth.isOutdated) {
      return authenticationOutdated();
    }
    const { guard, requests } = this.services;
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
      exchange.credential = credentialOf(identity);
      const limits = identity?.limits;
      exchange.limits = limits?.text;
      const refused =
        authorize(route.permission, identity, auth) ??
        (limits === undefined ? undefined : refuseByLimits(route, params, limits));
      requests.authenticated(
        identity === null ? 'unknown' : refused === undefined ? 'accepted' : 'forbidden',
      );
      return refused;
    };
    const identity = repeatsCredential(request.rawHeaders)
      ? null
      : auth.identify(authorization, typeof apiKey === 'string' ? apiKey : undefined);
    if (!(identity instanceof Promise)) {
      return decide(identity);
    }
    return identity.then(decide, (error: unknown) => {
      // The query that finds the damage closes the server, and is answered so itself.
      if (auth.isClosed) return authenticationClosed();
      throw error;
    });
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
        this.#passOn(exchange, params, this.services.limits.authBodyBytes, pass);
        break;
      case 'handled':
        this.#passOn(exchange, params, route.bodyBytes, pass);
        break;
      case 'service':
        this.#serve(exchange, route, params);
        break;
      case 'engine':
        this.#readBody(exchange, route, params);
        break;
    }
  }

  #serve(exchange: Exchange, route: ServiceRoute, params: PathParams): void {
    const { engine } = this.services.lifecycle;
    if (engine === undefined) {
      exchange.fail(notReady());
    } else if (params.undecodable.length > 0) {
      exchange.fail(malformedPath());
    } else {
      this.#services.run(exchange, route, engine);
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

  /** Hands a request on to its own handlers, which read the body. */
  #passOn(exchange: Exchange, params: PathParams, bodyBytes: number, pass: (() => void) | undefined): void {
    if ((exchange.announcedBytes ?? 0) > bodyBytes) {
      exchange.fail(bodyTooLarge(bodyBytes));
    } else if (params.undecodable.length > 0) {
      exchange.fail(malformedPath());
    } else {
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
    const refused = checkBodyHeaders(exchange, limits.bodyBytes, route);
    if (refused !== undefined) {
      exchange.fail(refused);
      return;
    }
    const client: Client = {
      network: networkOf(this.services.addresses.of(exchange.request)),
      credential: exchange.credential,
    };
    const request: Admissible = { exchange, route, engine, client };
    if (this.#starts.noteAlone(client)) {
      this.#start(request, params);
      return;
    }
    this.#starts.add(client, {
      start: () => {
        try {
          this.#start(request, params);
        } catch (error) {
          this.fault(exchange, error);
        }
      },
      whenOver: (callback) => {
        exchange.whenOver(callback);
      },
    });
  }

  /** Takes what the request needs, and reads its body. */
  #start({ exchange, route, engine, client }: Admissible, params: PathParams): void {
    const collection = params.values[COLLECTION_PARAMETER];
    const proceed = (reservation: Reservation, body: IncomingBody | undefined): void => {
      this.#checkParameters({ exchange, route, engine, client, reservation, collection, body }, params);
    };
    if (route.body && exchange.announcedBytes !== 0) {
      if (route.audited !== undefined && this.services.requestLog?.audit !== undefined) {
        exchange.auditedBody = new AuditedBody(route.audited);
      }
      this.#bodies.read(exchange, client, engine, (outcome) => {
        this.#afterBody(exchange, outcome, proceed);
      });
      return;
    }
    const reservation = this.services.admission.run(client, exchange.arrivedAt);
    if ('reason' in reservation) {
      this.#calls.refuse(exchange, reservation);
    } else {
      proceed(reservation, undefined);
    }
  }

  #afterBody(
    exchange: Exchange,
    outcome: BodyOutcome,
    proceed: (reservation: Reservation, body: IncomingBody | undefined) => void,
  ): void {
    if (outcome === 'gone') {
      return;
    }
    if ('failure' in outcome) {
      exchange.fail(outcome.failure);
    } else if ('refusal' in outcome) {
      this.#calls.refuse(exchange, outcome.refusal);
    } else {
      proceed(outcome.reservation, outcome.body);
    }
  }

  #checkParameters(work: Work, params: PathParams): void {
    const { exchange, route } = work;
    const refuse = (failure: Failure): void => {
      abandon(work);
      exchange.fail(failure);
    };
    const { values, undecodable } = params;
    if (undecodable.some((name) => name !== COLLECTION_PARAMETER || route.createsCollection === true)) {
      refuse(malformedPath());
      return;
    }
    exchange.params =
      undecodable.length === 0 ? values : { ...values, [COLLECTION_PARAMETER]: NO_COLLECTION };
    // Of a read it means nothing, as every other header.
    const key = route.permission === 'write' ? exchange.request.headers['idempotency-key'] : undefined;
    const result = this.#parameters.validate(route.parameters, exchange.queryString);
    const proceed = (validated: ParameterResult): void => {
      const checked =
        validated.failure === undefined ? withOperationId(validated.parameters, key) : validated;
      if (checked.failure !== undefined) {
        refuse(checked.failure);
      } else {
        this.#calls.execute(work, checked.parameters);
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
}

function malformedPath(): Failure {
  return badRequest('Malformed percent-encoding in the path');
}
