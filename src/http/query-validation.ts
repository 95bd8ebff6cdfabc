import type { Schema } from 'express-validator';
import { badRequest } from './errors';
import type { ParameterKind, Parameters, ParameterResult } from './parameters';
import { validator } from './validator';

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

const trueOrFalse = (name: string) => ({
  optional: true,
  isString: once(name),
  isIn: {
    options: [['true', 'false']],
    errorMessage: `Query parameter '${name}' must be true or false`,
  },
  toBoolean: { options: true },
});

const SCHEMAS: Readonly<Record<ParameterKind, Schema>> = {
  collection: { timeout: TIMEOUT },
  read: {
    timeout: TIMEOUT,
    allow_partial: trueOrFalse('allow_partial'),
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
    wait: trueOrFalse('wait'),
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

/** Validates a query string with express-validator. */
export async function validateQuery(kind: ParameterKind, queryString: string): Promise<ParameterResult> {
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
  const { checkSchema, matchedData, validationResult } = await validator();
  await checkSchema(schema, ['query']).run(request);
  const [error] = validationResult(request).array();
  if (error !== undefined) {
    return { failure: badRequest(String(error.msg)) };
  }
  return { parameters: matchedData<Parameters>(request, { locations: ['query'] }) };
}
