import express, { type Request, type RequestHandler, type Response } from 'express';
import type { body as bodyField, ValidationChain } from 'express-validator';
import { closeAfterResponse } from '../../http/connection';
import { hasBody, isJson } from '../../http/content';
import { bodyCoding } from '../../http/content-coding';
import { isMalformedGzip } from '../../http/express-lane';
import { validator } from '../../http/validator';
import { answerFailure } from './answer';

/** Largest body of an endpoint under `/auth`, in bytes. */
export const AUTH_BODY_BYTES = 64 * 1024;

const parseJson: RequestHandler = express.json({
  // Of the inflated bytes (C1.12).
  limit: AUTH_BODY_BYTES,
  type: () => true,
  // A number or null is valid JSON, without fields.
  strict: false,
});

/** The parser reads codings that no other endpoint reads. */
const parse: RequestHandler = (request, response, next) => {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && hasBody(request) && bodyCoding(encoding) === undefined) {
    next({ type: 'encoding.unsupported', encoding });
    return;
  }
  parseJson(request, response, next);
};

/** Parses a JSON body; an absent one is one without fields, one of another type a 415. */
export const jsonBody: RequestHandler = (request, response, next) => {
  if (hasBody(request) && !isJson(request.headers['content-type'])) {
    // The body is not read: what follows it on this connection must not be parsed as a request.
    response.setHeader('Connection', 'close');
    closeAfterResponse(request);
    answerFailure(response, 415, 'Unsupported content type: the body must be application/json');
    return;
  }
  parse(request, response, next);
};

/** Parses the body of a login, where a body that is not JSON is a missing password (C3.4). */
export const loginBody: RequestHandler = (request, response, next) => {
  parse(request, response, (error?: unknown) => {
    const { type } = (error ?? {}) as { type?: string };
    if (type === 'entity.parse.failed' || type === 'charset.unsupported' || isMalformedGzip(error)) {
      request.body = undefined;
      next();
    } else {
      next(error);
    }
  });
};

/** Begins the checks of a field of the body. */
export type BodyField = typeof bodyField;

/** Runs the checks in their order and answers the first that fails. They are made at the first request. */
export function checked(make: (body: BodyField) => readonly ValidationChain[]): RequestHandler {
  let chains: readonly ValidationChain[] | undefined;
  return async (request: Request, response: Response, next) => {
    if (typeof request.body !== 'object' || request.body === null || Array.isArray(request.body)) {
      request.body = {};
    }
    const { body, validationResult } = await validator();
    chains ??= make(body);
    for (const chain of chains) {
      await chain.run(request);
    }
    const [error] = validationResult(request).array({ onlyFirstError: true });
    if (error === undefined) {
      next();
    } else {
      answerFailure(response, 400, String(error.msg));
    }
  };
}

/** Characters of an unknown field that its refusal repeats. */
const MAX_ECHOED = 64;

/**
 * Refuses a field that the endpoint does not know, unless it is null (C1.10): one that is misspelt would otherwise be left
 * out, and what it was to limit would not be limited.
 */
export function onlyFields(known: readonly string[]): RequestHandler {
  return ({ body: fields }: Request, response, next) => {
    const isObject = typeof fields === 'object' && fields !== null && !Array.isArray(fields);
    const unknown = Object.entries(isObject ? (fields as object) : {}).find(
      ([name, value]) => value !== null && !known.includes(name),
    );
    if (unknown === undefined) {
      next();
    } else {
      const [name] = unknown;
      answerFailure(response, 400, `${Array.from(name).slice(0, MAX_ECHOED).join('')}: unknown field`);
    }
  };
}

/** The fields that were checked; `T` says what the checks made sure of. */
export async function matched<T extends object>(request: Request): Promise<T> {
  const { matchedData } = await validator();
  return matchedData<T>(request, { locations: ['body'], includeOptionals: true });
}

/** The message for an absent field. */
export function missing(field: string): string {
  return `Missing required field: ${field}`;
}
