/** What the console reads of `/openapi.json`: the endpoints, and the fields that their bodies have. */
import { send, type Method } from '../service/request';

interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly deprecated?: boolean;
}

interface Body {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface Described {
  readonly summary?: string;
  readonly requestBody?: Body;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly requestBodies?: Readonly<Record<string, Body>>;
  };
}

export interface Endpoint {
  readonly method: Method;
  /** With its parameters in braces. */
  readonly path: string;
  readonly summary: string;
  readonly body: Schema | undefined;
}

/** A field that a body can have at some place. */
export interface FieldHint {
  readonly name: string;
  readonly about: string;
}

/** Schemas refer to themselves. */
const MAX_STEPS = 40;

/** What stands for a value of a type until it is written. */
const EMPTY: Readonly<Record<string, unknown>> = { array: [], object: {}, string: '', boolean: true };

const METHODS: readonly string[] = ['get', 'post', 'put', 'patch', 'delete'];

export class Description {
  readonly endpoints: readonly Endpoint[];
  readonly #schemas: Readonly<Record<string, Schema>>;

  constructor(document: Document) {
    this.#schemas = document.components.schemas;
    this.endpoints = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([method]) => METHODS.includes(method))
        .map(([method, { summary = '', requestBody }]) => ({
          method: method.toUpperCase() as Method,
          path,
          summary,
          body: schemaOf(document, requestBody),
        })),
    );
  }

  /** The endpoint of a request; literal segments count more than parameters. */
  find(method: Method, path: string): Endpoint | undefined {
    const segments = path.replace(/\?.*$/, '').split('/');
    const matches = this.endpoints.filter(
      (endpoint) => endpoint.method === method && fits(endpoint.path, segments),
    );
    const parameters = (endpoint: Endpoint): number => endpoint.path.split('{').length;
    return matches.sort((a, b) => parameters(a) - parameters(b))[0];
  }

  /** The fields at a place in a body: the keys on the way to it, a number for an item of a list. */
  fieldsAt({ body }: Endpoint, place: readonly (string | number)[]): readonly FieldHint[] {
    let here = body === undefined ? [] : this.#alternatives(body);
    for (const step of place) {
      here = here
        .flatMap((schema) => this.#inside(schema, step))
        .flatMap((schema) => this.#alternatives(schema));
    }
    const fields = new Map<string, FieldHint>();
    for (const { properties = {} } of here) {
      for (const [name, schema] of Object.entries(properties)) {
        if (schema.deprecated !== true && !fields.has(name))
          fields.set(name, { name, about: this.#about(schema) });
      }
    }
    return [...fields.values()];
  }

  /** A body with the fields that it must have. */
  skeleton({ body }: Endpoint): Record<string, unknown> {
    const [schema] =
      body === undefined ? [] : this.#alternatives(body).filter(({ properties }) => properties);
    const required = schema?.required ?? schema?.anyOf?.[0]?.required ?? [];
    return Object.fromEntries(required.map((name) => [name, this.#empty(schema?.properties?.[name])]));
  }

  #empty(schema: Schema | undefined): unknown {
    const [first] = schema === undefined ? [] : this.#alternatives(schema);
    if (first?.const !== undefined) return first.const;
    if (first?.enum !== undefined) return first.enum[0];
    const type = typeof first?.type === 'object' ? first.type[0] : first?.type;
    return type === undefined ? null : (EMPTY[type] ?? null);
  }

  #about(schema: Schema): string {
    const found =
      schema.description ?? this.#alternatives(schema).find((of) => of.description)?.description ?? '';
    return found.split('\n')[0] ?? '';
  }

  #inside(schema: Schema, step: string | number): readonly Schema[] {
    if (typeof step === 'number') return schema.items === undefined ? [] : [schema.items];
    const { properties, additionalProperties: others } = schema;
    const found = properties?.[step] ?? (typeof others === 'object' ? others : undefined);
    return found === undefined ? [] : [found];
  }

  /** A schema, and all that it may be instead. */
  #alternatives(schema: Schema): readonly Schema[] {
    const found = new Set<Schema>();
    const waiting = [schema];
    for (let next = waiting.shift(); next !== undefined && found.size < MAX_STEPS; next = waiting.shift()) {
      if (found.has(next)) continue;
      found.add(next);
      const name = next.$ref?.replace('#/components/schemas/', '');
      const referred = name === undefined ? undefined : this.#schemas[name];
      waiting.push(...(referred === undefined ? [] : [referred]));
      for (const list of [next.anyOf, next.oneOf, next.allOf]) waiting.push(...(list ?? []));
    }
    return [...found];
  }
}

/** The schema of a body, which may be named elsewhere in the document. */
function schemaOf({ components }: Document, body: Body | undefined): Schema | undefined {
  const name = body?.$ref?.replace('#/components/requestBodies/', '');
  const found = name === undefined ? body : components.requestBodies?.[name];
  return found?.content?.['application/json']?.schema;
}

function fits(path: string, segments: readonly string[]): boolean {
  const own = path.split('/');
  return (
    own.length === segments.length &&
    own.every((segment, index) => segment.startsWith('{') || segment === segments[index])
  );
}

let reading: Promise<Description> | undefined;

/** Read once; it is the same as long as the server runs. */
export function readDescription(): Promise<Description> {
  reading ??= send('GET', '/openapi.json', undefined, { token: null }).then(
    (document) => new Description(document as Document),
  );
  reading.catch(() => {
    reading = undefined;
  });
  return reading;
}
