import { checkSchema, matchedData, validationResult, type Schema } from 'express-validator';
import { badRequest, type Failure } from './errors';
import { UUID } from './uuid';

/** Which query parameters a route honours. All others are ignored (C1.10). */
export type ParameterKind = 'write' | 'read' | 'collection';

/** Query parameters of a data endpoint, parsed, and what headers say about the operation. */
export interface Parameters {
  readonly wait?: boolean;
  readonly timeout?: number;
  /** C25 */
  readonly operationId?: string;
}

/** The parameters of a query string, or why it is refused. */
export type ParameterResult =
  { readonly parameters: Parameters; readonly failure?: undefined } | { readonly failure: Failure };

const once = (name: string) => ({
  bail: true,
  errorMessage: `Query parameter '${name}' must be given once`,
});

const TIMEOUT: Schema['timeout'] = {
  optional: true,
  isString: once('timeout'),
  isInt: {
    options: { min: 1, max: 4_294_967_295, allow_leading_zeroes: false },
    errorMessage: "Query parameter 'timeout' must be a whole number of seconds from 1 to 4294967295",
  },
  toInt: true,
};

const SCHEMAS: Readonly<Record<ParameterKind, Schema>> = {
  collection: { timeout: TIMEOUT },
  read: {
    timeout: TIMEOUT,
    consistency: {
      optional: true,
      isString: once('consistency'),
      matches: {
        options: /^(?:[1-9]\d{0,9}|majority|quorum|all|)$/,
        errorMessage: "Query parameter 'consistency' must be a whole number from 1, majority, quorum or all",
      },
    },
  },
  write: {
    timeout: TIMEOUT,
    wait: {
      optional: true,
      isString: once('wait'),
      isIn: {
        options: [['true', 'false']],
        errorMessage: "Query parameter 'wait' must be true or false",
      },
      toBoolean: { options: true },
    },
    ordering: {
      optional: true,
      isString: once('ordering'),
      isIn: {
        options: [['weak', 'medium', 'strong']],
        errorMessage: "Query parameter 'ordering' must be weak, medium or strong",
      },
    },
  },
};

/** The parameters with the operation id that the header `Idempotency-Key` gives (C25). */
export function withOperationId(parameters: Parameters, key: string | string[] | undefined): ParameterResult {
  if (key === undefined) {
    return { parameters };
  }
  // Node joins several headers of that name with commas.
  return typeof key === 'string' && UUID.test(key)
    ? { parameters: { ...parameters, operationId: key } }
    : { failure: badRequest('Header Idempotency-Key must be a UUID') };
}

const NONE: ParameterResult = { parameters: {} };

/** Distinct query strings that are cached for each kind. */
const REMEMBERED = 512;
/** Longer query strings are validated each time. */
const MEMORABLE_LENGTH = 256;

/**
 * Validates query strings with express-validator and caches the results, least recently used evicted first: a server
 * gets few distinct ones, and the validator costs more than the rest of a small request.
 */
export class ParameterValidator {
  readonly #remembered: Record<ParameterKind, Map<string, ParameterResult>> = {
    write: new Map(),
    read: new Map(),
    collection: new Map(),
  };

  /** At once when the query string is empty or known, else a promise. */
  validate(kind: ParameterKind, queryString: string): ParameterResult | Promise<ParameterResult> {
    if (queryString === '') {
      return NONE;
    }
    const remembered = this.#remembered[kind];
    const known = remembered.get(queryString);
    if (known !== undefined) {
      remembered.delete(queryString);
      remembered.set(queryString, known);
      return known;
    }
    return validateQuery(kind, queryString).then((result) => {
      if (queryString.length <= MEMORABLE_LENGTH) {
        for (const oldest of remembered.keys()) {
          if (remembered.size < REMEMBERED) {
            break;
          }
          remembered.delete(oldest);
        }
        remembered.set(queryString, result);
      }
      return result;
    });
  }
}

async function validateQuery(kind: ParameterKind, queryString: string): Promise<ParameterResult> {
  const schema = SCHEMAS[kind];
  const given = new URLSearchParams(queryString);
  const query: Record<string, string | string[]> = {};
  for (const name of Object.keys(schema)) {
    const values = given.getAll(name);
    const [first] = values;
    if (first !== undefined) {
      query[name] = values.length === 1 ? first : values;
    }
  }
  const request = { query };
  await checkSchema(schema, ['query']).run(request);
  const [error] = validationResult(request).array();
  if (error !== undefined) {
    return { failure: badRequest(String(error.msg)) };
  }
  return { parameters: matchedData<Parameters>(request, { locations: ['query'] }) };
}
