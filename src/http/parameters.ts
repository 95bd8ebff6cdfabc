import { badRequest, type Failure } from './errors';
import { UUID } from './uuid';

/** Which query parameters a route honours. All others are ignored (C1.10). */
export type ParameterKind = 'write' | 'read' | 'collection';

/** Query parameters of a data endpoint, parsed, and what headers say about the operation. */
export interface Parameters {
  readonly wait?: boolean;
  readonly timeout?: number;
  /** Whether shards of a cluster that cannot be reached may be left out of the answer. */
  readonly allow_partial?: boolean;
  /** C25 */
  readonly operationId?: string;
}

/** The parameters of a query string, or why it is refused. */
export type ParameterResult =
  { readonly parameters: Parameters; readonly failure?: undefined } | { readonly failure: Failure };

/** Validates the query string of a route that honours such parameters. */
export type ValidateQuery = (kind: ParameterKind, queryString: string) => Promise<ParameterResult>;

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
 * Validates query strings and caches the results, least recently used evicted first: a server gets few distinct ones, and the
 * validator costs more than the rest of a small request.
 */
export class ParameterValidator {
  readonly #remembered: Record<ParameterKind, Map<string, ParameterResult>> = {
    write: new Map(),
    read: new Map(),
    collection: new Map(),
  };

  constructor(private readonly validateQuery: ValidateQuery) {}

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
    return this.validateQuery(kind, queryString).then((result) => {
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
