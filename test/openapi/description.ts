import Ajv, { type ErrorObject, type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';

/** A JSON schema, or any other part of the description. */
type Json = any; // eslint-disable-line @typescript-eslint/no-explicit-any -- the linter has proved its shape

/** One endpoint of the description. */
export interface Operation {
  readonly method: string;
  /** As it is written there: `/collections/{collection_name}`. */
  readonly path: string;
  readonly id: string;
  readonly responses: Readonly<Record<string, Json>>;
  /** Bodies that it takes, each with its name and what else is said of it. */
  readonly examples: readonly { readonly name: string; readonly value: Json; readonly collection?: string }[];
  /** Where its body's schema is, if it has one. */
  readonly body: string | undefined;
}

/** An answer, and enough of the request to know what it answers. */
export interface Answered {
  readonly method: string;
  /** The request target as it was sent. */
  readonly path: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** What every path may answer besides what is described for it; `info.description` says so. */
const ANYWHERE: ReadonlySet<number> = new Set([404, 405, 417, 431]);

/** The description of the HTTP interface that the build has written, and what agrees with it. */
class Description {
  readonly document: Json = JSON.parse(
    readFileSync(join(__dirname, '..', '..', 'dist', 'openapi.json'), 'utf8'),
  );
  readonly operations: readonly Operation[] = [...this.#readOperations()];
  readonly #ajv = new Ajv({ strict: false, allErrors: false });
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor() {
    addFormats(this.#ajv);
    this.#ajv.addSchema({ $id: 'description', ...closed(this.document) });
  }

  /** The endpoint of a method and a request target; `HEAD` finds what `GET` finds. */
  find(method: string, target: string): Operation | undefined {
    const wanted = method === 'HEAD' ? 'GET' : method;
    const path = pathOf(target).split('/');
    const candidates = this.operations.filter(
      (operation) => operation.method === wanted && matches(operation.path.split('/'), path),
    );
    // Literal segments win, as in the route table.
    return candidates.sort((a, b) => parameters(a.path) - parameters(b.path))[0];
  }

  /**
   * Where an answer departs from the description: its status, its media type, a header that must be there, or a place
   * in its body. Undefined when it does not.
   */
  disagreement({ method, path, status, headers, text }: Answered): string | undefined {
    if (method === 'OPTIONS') return undefined;
    const operation = this.find(method, path);
    const described = operation?.responses[String(status)];
    if (operation === undefined ? status < 400 : described === undefined && !ANYWHERE.has(status)) {
      return `${status} is not described`;
    }
    for (const [name, header] of Object.entries<Json>(described?.headers ?? {})) {
      const required = this.#resolve(header).required === true;
      if (required && headers[name.toLowerCase()] === undefined) return `the header ${name} is missing`;
    }
    if (method === 'HEAD') return undefined;
    const content: Json = described?.content ?? { 'application/json': {} };
    const type = (headers['content-type'] ?? '').replace(/;.*/, '');
    if (!(type in content)) return `${type} is not described for ${status}`;
    if (type !== 'application/json') return undefined;
    return this.#fault(described?.schemaAt ?? failureSchema(path), JSON.parse(text));
  }

  /** The same for a failure that may be none of this endpoint's: then its envelope alone counts. */
  failureFault(answered: Answered): string | undefined {
    const { method, path, status, text } = answered;
    if (this.find(method, path)?.responses[String(status)] !== undefined) return this.disagreement(answered);
    return method === 'HEAD' ? undefined : this.#fault(failureSchema(path), JSON.parse(text));
  }

  /** Where a body departs from what an endpoint is described to take. */
  bodyFault(operation: Operation, body: unknown): string | undefined {
    return operation.body === undefined ? undefined : this.#fault(operation.body, body);
  }

  #fault(pointer: string, value: unknown): string | undefined {
    let validate = this.#compiled.get(pointer);
    if (validate === undefined) {
      validate = this.#ajv.compile({ $ref: `description${pointer}` });
      this.#compiled.set(pointer, validate);
    }
    return validate(value) ? undefined : sentence(validate.errors ?? []);
  }

  #resolve(part: Json): Json {
    if (typeof part.$ref !== 'string') return part;
    const steps: string[] = part.$ref.slice(2).split('/');
    return steps.reduce((at, step) => at[step], this.document);
  }

  *#readOperations(): Generator<Operation> {
    for (const [path, item] of Object.entries<Json>(this.document.paths)) {
      for (const [method, operation] of Object.entries<Json>(item)) {
        if (method === 'parameters') continue;
        const place = `#/paths/${escaped(path)}/${method}`;
        const responses = Object.entries<Json>(operation.responses).map(([status, response]) => {
          const at = response.$ref ?? `${place}/responses/${status}`;
          const schemaAt = `${at}/content/application~1json/schema`;
          return [status, { ...this.#resolve(response), schemaAt }] as const;
        });
        const request = operation.requestBody;
        const media = request && this.#resolve(request).content['application/json'];
        yield {
          method: method.toUpperCase(),
          path,
          id: operation.operationId,
          responses: Object.fromEntries(responses),
          examples: Object.entries<Json>(media?.examples ?? {}).map(([name, example]) => ({
            name,
            value: example.value,
            collection: example['x-collection'],
          })),
          body: media && `${request.$ref ?? `${place}/requestBody`}/content/application~1json/schema`,
        };
      }
    }
  }
}

declare global {
  /** The description that all test files of a worker share, where `test/environment.cjs` has one. */
  var descriptionOfWorker: (() => Description) | undefined;
}

let read: Description | undefined;

/** The description; read once for each worker of jest. */
export function description(): Description {
  read ??= globalThis.descriptionOfWorker?.() ?? new Description();
  return read;
}

/**
 * Fails the test when an answer departs from the description.
 * @throws Error that names the request and the place.
 */
export function mustBeDescribed(answered: Answered): void {
  const disagreement = description().disagreement(answered);
  if (disagreement !== undefined) {
    const { method, path, status, text } = answered;
    throw new Error(`openapi.yaml disagrees with ${method} ${path}: ${disagreement}\n${status} ${text}`);
  }
}

/**
 * The same for a failure that a fake has made up.
 * @throws Error that names the request and the place.
 */
export function mustBeFailure(answered: Answered): void {
  const fault = description().failureFault(answered);
  if (fault !== undefined) {
    throw new Error(`${answered.method} ${answered.path}: ${fault}\n${answered.status} ${answered.text}`);
  }
}

/** Where the schema of the failures of a path is (C1.2, C1.3). */
function failureSchema(target: string): string {
  return /^\/auth(\/|$)/.test(pathOf(target))
    ? '#/components/schemas/AuthError'
    : '#/components/schemas/Error';
}

/** A copy in which no object of an answer has fields that are not described. Clients must bear them, tests must not. */
function closed(part: Json): Json {
  if (typeof part !== 'object' || part === null) return part;
  if (Array.isArray(part)) return part.map(closed);
  const copy = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, closed(value)]));
  const open = 'properties' in copy && 'type' in copy && !('additionalProperties' in copy);
  return open ? { ...copy, additionalProperties: false } : copy;
}

/** The errors that are deepest in the body: those of the alternative that was meant. */
function sentence(errors: readonly ErrorObject[]): string {
  const depth = (error: ErrorObject): number => error.instancePath.split('/').length;
  const deepest = Math.max(...errors.map(depth));
  return errors
    .filter((error) => depth(error) === deepest)
    .map(({ instancePath, message, params }) => {
      const place = instancePath
        .replaceAll(/\/(\d+)/g, '[$1]')
        .replaceAll('/', '.')
        .replace(/^\./, '');
      return `${place || 'the body'} ${message ?? ''} ${JSON.stringify(params)}`;
    })
    .join('; ');
}

/** The path of a request target, without query, scheme, authority and trailing slashes. */
function pathOf(target: string): string {
  const path = target.replace(/^[a-z]+:\/\/[^/]*/i, '').replace(/[?#].*$/s, '');
  return path.replace(/\/+$/, '') || '/';
}

function matches(template: readonly string[], path: readonly string[]): boolean {
  return (
    template.length === path.length &&
    template.every((segment, at) => segment === path[at] || (segment.startsWith('{') && path[at] !== ''))
  );
}

function parameters(path: string): number {
  return path.split('{').length;
}

function escaped(step: string): string {
  return encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'));
}
