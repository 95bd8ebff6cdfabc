import type { Request, RequestHandler, Response } from 'express';
import { body } from 'express-validator';
import { parsePermissions, unknownPermission } from '../permissions';
import type { AuthService, IssuedToken, TokenRequest } from '../service';
import type { StoredToken } from '../store/port';
import { answerDone, answerFailure, answering } from './answer';
import { checked, jsonBody, matched, missing } from './request-body';

/** The service may still be opening when a request arrives; its handler waits for it. */
type OpeningAuth = Promise<AuthService>;

const MOST_NAME_CHARACTERS = 255;
/** Ten years. */
const LONGEST_LIFETIME_SECONDS = 315_360_000;
const NOT_FOUND = 'Access token not found';

interface TokenBody {
  readonly name: string;
  readonly permission: string;
  readonly description?: string | null;
  readonly will_expire?: boolean | null;
  readonly expires_in_seconds?: number;
}

const CHECKS: RequestHandler = checked(
  body('name')
    .exists({ values: 'null' })
    .withMessage(missing('name'))
    .bail()
    .custom((value: unknown) => {
      const characters = isText(value) ? Array.from(value).length : 0;
      return characters >= 1 && characters <= MOST_NAME_CHARACTERS;
    })
    .withMessage(`name must be a string of 1 to ${MOST_NAME_CHARACTERS} characters, none of them NUL`),
  body('permission')
    .exists({ values: 'null' })
    .withMessage(missing('permission'))
    .bail()
    .custom((value: unknown) => {
      const refused = refusePermission(value);
      if (refused !== undefined) {
        throw new Error(refused);
      }
      return true;
    }),
  body('description')
    .optional({ values: 'null' })
    .custom(isText)
    .withMessage('description must be a string without NUL'),
  body('will_expire')
    .optional({ values: 'null' })
    .custom((value: unknown) => typeof value === 'boolean')
    .withMessage('will_expire must be a boolean'),
  body('expires_in_seconds')
    .if(body('will_expire').custom((value: unknown) => value === true))
    .exists({ values: 'null' })
    .withMessage(missing('expires_in_seconds'))
    .bail()
    .custom(
      (value: unknown) =>
        Number.isInteger(value) && Number(value) >= 1 && Number(value) <= LONGEST_LIFETIME_SECONDS,
    )
    .withMessage(`expires_in_seconds must be a whole number from 1 to ${LONGEST_LIFETIME_SECONDS}`),
);

/** Characters of an unknown permission that its refusal repeats. */
const MOST_ECHOED = 64;

/** Why a `permission` is refused: a sentence that names the part that is unknown. */
function refusePermission(value: unknown): string | undefined {
  const rule = 'permission must be a comma-separated list of read, write and admin';
  if (typeof value !== 'string') {
    return rule;
  }
  const unknown = unknownPermission(value);
  return unknown === undefined
    ? undefined
    : `${rule}: ${JSON.stringify(Array.from(unknown).slice(0, MOST_ECHOED).join(''))} is none of them`;
}

/** `POST /auth/access_token` (C3.10). */
export function createToken(auth: OpeningAuth): readonly RequestHandler[] {
  return [
    jsonBody,
    CHECKS,
    answering(async (request, response) => {
      response.json(issued(await (await auth).createToken(tokenRequest(matched<TokenBody>(request)))));
    }),
  ];
}

function tokenRequest({ name, description, permission, ...rest }: TokenBody): TokenRequest {
  return {
    name: storable(name),
    description: typeof description !== 'string' ? null : storable(description),
    permissions: parsePermissions(permission) ?? new Set(),
    lifetimeSeconds: rest.will_expire === true ? (rest.expires_in_seconds ?? null) : null,
  };
}

/** A text that every store returns whole: Node's own SQLite truncates a text at its first NUL. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0');
}

/** The text as it is read back from the store (UTF-8), so that this answer equals later ones. */
function storable(text: string): string {
  return Buffer.from(text).toString();
}

/** `GET /auth/access_tokens` (C3.11). */
export function listTokens(auth: OpeningAuth): readonly RequestHandler[] {
  return [
    answering(async (_request, response) => {
      const tokens = await (await auth).tokens();
      response.json(tokens.map((token) => resource(token)));
    }),
  ];
}

/** `POST /auth/access_token/{id}/rotate` (C3.11). */
export function rotateToken(auth: OpeningAuth): readonly RequestHandler[] {
  return [
    withId(async (id, response) => {
      const outcome = await (await auth).rotateToken(id);
      if (outcome === 'unknown') {
        answerFailure(response, 404, NOT_FOUND);
      } else if (outcome === 'expired') {
        answerFailure(response, 400, 'Cannot rotate an expired access token');
      } else {
        response.json(issued(outcome));
      }
    }),
  ];
}

/** `DELETE /auth/access_token/{id}` (C3.12). */
export function deleteToken(auth: OpeningAuth): readonly RequestHandler[] {
  return [
    withId(async (id, response) => {
      if (await (await auth).deleteToken(id)) {
        answerDone(response, 'Access token deleted successfully');
      } else {
        answerFailure(response, 404, NOT_FOUND);
      }
    }),
  ];
}

/** Parses the id of the path: a positive integer, or a 400. An id that a number cannot hold exactly was never issued. */
function withId(work: (id: number, response: Response) => Promise<void>): RequestHandler {
  return answering(async (request: Request, response) => {
    const text = String(request.params['id']);
    if (!/^0*[1-9]\d*$/.test(text)) {
      answerFailure(response, 400, 'The access token id must be a positive integer');
    } else if (!Number.isSafeInteger(Number(text))) {
      answerFailure(response, 404, NOT_FOUND);
    } else {
      await work(Number(text), response);
    }
  });
}

/** A token as the endpoints answer it. `raw` is given only when it was just created. */
function resource(token: StoredToken, raw?: string): Record<string, unknown> {
  return {
    id: token.id,
    name: token.name,
    description: token.description,
    ...(raw !== undefined && { token: raw }),
    created_at: rfc3339(token.createdAt),
    expired_at: token.expiresAt === null ? null : rfc3339(token.expiresAt),
    will_expire: token.expiresAt !== null,
    permission: token.permission,
  };
}

function issued({ stored, raw }: IssuedToken): Record<string, unknown> {
  return resource(stored, raw);
}

function rfc3339(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}
