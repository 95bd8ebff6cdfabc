import type { Request, RequestHandler, Response } from 'express';
import { filterProblem } from '../../engine/filter-problem';
import { noteForAudit } from '../../http/audit-fields';
import type { AuthService } from '../service';
import {
  auditedToken,
  readTokenRequest,
  refuseDescription,
  refuseLifetime,
  refusePermission,
  refuseTokenName,
  TOKEN_EXPIRED,
  TOKEN_NOT_FOUND,
  tokenResource,
  type IssuedToken,
  type TokenRequest,
} from '../tokens';
import { answerDone, answerFailure, answering } from './answer';
import { checked, jsonBody, matched, missing, onlyFields } from './request-body';

/** The service may still be opening when a request arrives; its handler waits for it. */
type OpeningAuth = Promise<AuthService>;

interface TokenBody {
  readonly name: string;
  readonly permission: string;
  readonly description?: string | null;
  readonly will_expire?: boolean | null;
  readonly expires_in_seconds?: number;
  readonly collections?: unknown;
  readonly filter?: unknown;
}

const FIELDS: readonly (keyof TokenBody)[] = [
  'name',
  'permission',
  'description',
  'will_expire',
  'expires_in_seconds',
  'collections',
  'filter',
];

const CHECKS: RequestHandler = checked((body) => [
  body('name')
    .exists({ values: 'null' })
    .withMessage(missing('name'))
    .bail()
    .custom(accepted(refuseTokenName)),
  body('permission')
    .exists({ values: 'null' })
    .withMessage(missing('permission'))
    .bail()
    .custom(accepted(refusePermission)),
  body('description').optional({ values: 'null' }).custom(accepted(refuseDescription)),
  body('will_expire')
    .optional({ values: 'null' })
    .custom((value: unknown) => typeof value === 'boolean')
    .withMessage('will_expire must be a boolean'),
  body('expires_in_seconds')
    .if(body('will_expire').custom((value: unknown) => value === true))
    .exists({ values: 'null' })
    .withMessage(missing('expires_in_seconds'))
    .bail()
    .custom(accepted(refuseLifetime)),
  // Checked together, when all others are good.
  body('collections').optional({ values: 'null' }),
  body('filter').optional({ values: 'null' }),
]);

/** A check of express-validator whose message is the reason of the refusal. */
function accepted(refuse: (value: unknown) => string | undefined): (value: unknown) => true {
  return (value) => {
    const refused = refuse(value);
    if (refused !== undefined) {
      throw new Error(refused);
    }
    return true;
  };
}

/** `POST /auth/access_token` (C3.10). */
export function createToken(auth: OpeningAuth): readonly RequestHandler[] {
  return [
    jsonBody,
    onlyFields(FIELDS),
    CHECKS,
    answering(async (request, response) => {
      const asked = tokenRequest(await matched<TokenBody>(request));
      if (typeof asked === 'string') {
        answerFailure(response, 400, asked);
      } else {
        answerIssued(response, await (await auth).createToken(asked));
      }
    }),
  ];
}

/** The checks have accepted every field but the limits: the request, or why they are refused. */
function tokenRequest({ name, description, permission, ...rest }: TokenBody): TokenRequest | string {
  const lifetimeSeconds = rest.will_expire === true ? (rest.expires_in_seconds ?? null) : null;
  const { collections, filter } = rest;
  return readTokenRequest(
    { name, permission, description, lifetimeSeconds, collections, filter },
    filterProblem,
  );
}

/** `GET /auth/access_tokens` (C3.11). */
export function listTokens(auth: OpeningAuth): readonly RequestHandler[] {
  return [
    answering(async (_request, response) => {
      const tokens = await (await auth).tokens();
      response.json(tokens.map((token) => tokenResource(token)));
    }),
  ];
}

/** `POST /auth/access_token/{id}/rotate` (C3.11). It changes nothing else of the token, so a body has no field. */
export function rotateToken(auth: OpeningAuth): readonly RequestHandler[] {
  return [
    jsonBody,
    onlyFields([]),
    withId(async (id, response) => {
      const outcome = await (await auth).rotateToken(id);
      if (outcome === 'unknown') {
        answerFailure(response, 404, TOKEN_NOT_FOUND);
      } else if (outcome === 'expired') {
        answerFailure(response, 400, TOKEN_EXPIRED);
      } else {
        answerIssued(response, outcome);
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
        answerFailure(response, 404, TOKEN_NOT_FOUND);
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
      answerFailure(response, 404, TOKEN_NOT_FOUND);
    } else {
      await work(Number(text), response);
    }
  });
}

function answerIssued(response: Response, { stored, raw }: IssuedToken): void {
  const resource = tokenResource(stored, raw);
  noteForAudit(response, auditedToken(resource));
  response.json(resource);
}
