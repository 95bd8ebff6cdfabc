import type { Request, RequestHandler } from 'express';
import type { ValidationChain } from 'express-validator';
import type { ClientAddresses } from '../../http/client-address';
import { unauthenticated } from '../../http/errors';
import type { AuthenticationOutcome, RequestCounts } from '../../http/request-counts';
import { refusePassword } from '../password-policy';
import { HashingBusy } from '../password-hashing';
import type { AuthService, LoginOutcome } from '../service';
import { answerDone, answerEnvelope, answerFailure, answering, answerTooMany } from './answer';
import { checked, jsonBody, loginBody, matched, missing, type BodyField } from './request-body';

/** The service may still be opening when a request arrives; its handler waits for it. */
type OpeningAuth = Promise<AuthService>;

interface PasswordBody {
  readonly password: string;
}

/** A password that is absent, not a string, empty or blank is a missing one (C3.3, C3.4). */
function givenPassword(body: BodyField): ValidationChain {
  return body('password')
    .custom((value: unknown) => typeof value === 'string' && value.trim() !== '')
    .withMessage(missing('password'));
}

function goodPassword(body: BodyField): ValidationChain {
  return givenPassword(body)
    .bail()
    .custom((value: string) => {
      const refused = refusePassword(value);
      if (refused !== undefined) {
        throw new Error(refused);
      }
      return true;
    });
}

/** `GET /auth/admin/exists` (C3.6). */
export function adminExists(auth: OpeningAuth): readonly RequestHandler[] {
  return [
    answering(async (_request, response) => {
      answerEnvelope(response, (await auth).adminExists);
    }),
  ];
}

/**
 * Refuses to create the admin of a server whose first credential came from its settings (C11.2): such a server runs
 * behind forwarders, whose clients cannot be told from local ones.
 */
function refusingByNetwork(auth: OpeningAuth): RequestHandler {
  return (_request, response, next) => {
    auth.then(({ hasInitialToken, adminExists }) => {
      if (hasInitialToken && !adminExists) {
        answerFailure(response, 403, 'The admin of this server is created with kithdb admin create');
      } else {
        next();
      }
    }, next);
  };
}

/** `POST /auth/admin` (C3.3). */
export function createAdmin(auth: OpeningAuth): readonly RequestHandler[] {
  return [
    refusingByNetwork(auth),
    jsonBody,
    checked((body) => [goodPassword(body)]),
    answering(async (request, response) => {
      const { password } = await matched<PasswordBody>(request);
      if (await (await auth).createAdmin(password)) {
        answerDone(response, 'User registered successfully');
      } else {
        answerFailure(response, 409, 'Username already exists');
      }
    }),
  ];
}

/**
 * `POST /auth/admin/reset-password` (C3.3). The JWT is checked again when the password changes: a request whose body comes
 * late must not use one that ended meanwhile, nor that there was no admin when it was checked first.
 */
export function resetPassword(auth: OpeningAuth): readonly RequestHandler[] {
  return [
    jsonBody,
    checked((body) => [goodPassword(body)]),
    answering(async (request, response) => {
      const service = await auth;
      const { password } = await matched<PasswordBody>(request);
      switch (await service.resetPassword(password, () => holdsAdminJwt(service, request))) {
        case 'done':
          answerDone(response, 'Password reset successfully');
          break;
        case 'no admin':
          answerFailure(response, 404, 'User not found');
          break;
        case 'not allowed': {
          const { status, message, headers } = unauthenticated();
          answerFailure(response.set(headers), status, message);
        }
      }
    }),
  ];
}

function holdsAdminJwt(service: AuthService, { headers }: Request): boolean {
  const { authorization, 'api-key': apiKey } = headers;
  const identity = service.identify(authorization, typeof apiKey === 'string' ? apiKey : undefined);
  // An access token may have to be looked up.
  return identity !== null && !(identity instanceof Promise) && identity.kind === 'admin-jwt';
}

const COUNTED: Readonly<Record<LoginOutcome['kind'], AuthenticationOutcome>> = {
  success: 'accepted',
  wrong: 'wrong_password',
  throttled: 'throttled',
};

/** Counts how a login ends, one that finds no place to have its password hashed included. */
async function counted(
  requests: Pick<RequestCounts, 'authenticated'>,
  ending: Promise<LoginOutcome>,
): Promise<LoginOutcome> {
  try {
    const outcome = await ending;
    requests.authenticated(COUNTED[outcome.kind]);
    return outcome;
  } catch (error) {
    if (error instanceof HashingBusy) requests.authenticated('throttled');
    throw error;
  }
}

/** `POST /auth/admin/login` (C3.4). */
export function login(
  auth: OpeningAuth,
  clients: ClientAddresses,
  requests: Pick<RequestCounts, 'authenticated'>,
): readonly RequestHandler[] {
  return [
    loginBody,
    checked((body) => [givenPassword(body)]),
    answering(async (request, response) => {
      const { password } = await matched<PasswordBody>(request);
      const viaUnknownProxy = clients.isPassedOnByUnknown(request);
      const ending = (await auth).login(password, clients.of(request), viaUnknownProxy);
      const outcome = await counted(requests, ending);
      switch (outcome.kind) {
        case 'success':
          response.json({
            token: outcome.jwt,
            message: 'Login successful',
            expires_in: outcome.expiresInSeconds,
          });
          break;
        case 'wrong':
          response.status(401).json({ token: null, message: 'Invalid username or password', expires_in: 0 });
          break;
        case 'throttled':
          answerTooMany(response, 'Too many failed logins', outcome.retryAfterSeconds);
          break;
      }
    }),
  ];
}
