import type { RequestHandler } from 'express';
import { body, type ValidationChain } from 'express-validator';
import { refusePassword } from '../password-policy';
import type { AuthService } from '../service';
import { answerDone, answerEnvelope, answerFailure, answering, answerTooMany } from './answer';
import { checked, jsonBody, loginBody, matched, missing } from './request-body';

/** The service may still be opening when a request arrives; its handler waits for it. */
type OpeningAuth = Promise<AuthService>;

interface PasswordBody {
  readonly password: string;
}

/** A password that is absent, not a string, empty or blank is a missing one (C3.3, C3.4). */
function givenPassword(): ValidationChain {
  return body('password')
    .custom((value: unknown) => typeof value === 'string' && value.trim() !== '')
    .withMessage(missing('password'));
}

function goodPassword(): ValidationChain {
  return givenPassword()
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

/** `POST /auth/admin` (C3.3). */
export function createAdmin(auth: OpeningAuth): readonly RequestHandler[] {
  return [
    jsonBody,
    checked(goodPassword()),
    answering(async (request, response) => {
      if (await (await auth).createAdmin(matched<PasswordBody>(request).password)) {
        answerDone(response, 'User registered successfully');
      } else {
        answerFailure(response, 409, 'Username already exists');
      }
    }),
  ];
}

/** `POST /auth/admin/reset-password` (C3.3). */
export function resetPassword(auth: OpeningAuth): readonly RequestHandler[] {
  return [
    jsonBody,
    checked(goodPassword()),
    answering(async (request, response) => {
      if (await (await auth).resetPassword(matched<PasswordBody>(request).password)) {
        answerDone(response, 'Password reset successfully');
      } else {
        answerFailure(response, 404, 'User not found');
      }
    }),
  ];
}

/** `POST /auth/admin/login` (C3.4). */
export function login(auth: OpeningAuth): readonly RequestHandler[] {
  return [
    loginBody,
    checked(givenPassword()),
    answering(async (request, response) => {
      const peer = request.socket.remoteAddress ?? '';
      const outcome = await (await auth).login(matched<PasswordBody>(request).password, peer);
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
