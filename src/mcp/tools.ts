import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { McpOptions, ToolCall, ToolDatabase } from './database';

/** Hits of one query at most: an answer has to fit into the context of a language model. */
const MAX_HITS = 100;
const DEFAULT_HITS = 10;
/** Characters of the name of a collection (C2.2), as openapi.yaml has it too. This package imports nothing of kithdb. */
const MAX_NAME_CHARACTERS = 255;
/** Characters of the name of a vector, which has at most 200 bytes (C2.2). */
const MAX_VECTOR_NAME_CHARACTERS = 200;
/** Characters of an id that is a string. */
const MAX_ID_CHARACTERS = 256;
/** Points of one upsert. */
const MAX_POINTS = 1000;
/** Characters of an answer; a longer one is a failure that says what to do. */
const MAX_CHARACTERS = 1_000_000;

const PROTO = '__proto__';

const collection = z
  .string()
  .min(1)
  .max(MAX_NAME_CHARACTERS)
  // It could not be in a path.
  .refine((name) => !/\p{Surrogate}/u.test(name), 'has half of a surrogate pair, which is no character')
  .describe('Name of the collection.');
/** Any JSON object, as it is: a schema of an object would leave out a key that is `__proto__`. */
const jsonObject = z
  .unknown()
  .refine(isObject, 'expected an object')
  .meta({ type: 'object', additionalProperties: true });
const filter = jsonObject
  .optional()
  .describe(
    'A filter over the payload, such as {"must": [{"key": "year", "range": {"gte": 2020}}]}; all points when absent.',
  );
const model = z
  .string()
  .max(256)
  .optional()
  .describe(
    'The model of the text: one of the server, or qdrant/bm25 for keyword search in a sparse vector.',
  );
const vector = z.union([
  z.array(z.number()),
  z.strictObject({ indices: z.array(z.number().int().nonnegative()), values: z.array(z.number()) }),
]);

/** Vectors by the names of their fields. */
const namedVectors = <T extends z.ZodType>(one: T) =>
  z.preprocess(
    (value, context) => {
      // It would be left out.
      if (isObject(value) && Object.hasOwn(value, PROTO))
        context.addIssue(`no vector field can be named ${PROTO} here`);
      return value;
    },
    z.record(z.string(), one),
  );

/** Adds the tools to a server. Those that change data are there only where that is allowed. */
export function addTools(server: McpServer, database: ToolDatabase, { allowsWrites }: McpOptions): void {
  addDescribing(server, database);
  addReading(server, database);
  if (allowsWrites) addUpsert(server, database);
}

const READS = { readOnlyHint: true, openWorldHint: false };

function addDescribing(server: McpServer, database: ToolDatabase): void {
  server.registerTool(
    'list_collections',
    { description: 'Lists the collections of the vector database.', annotations: READS },
    ({ signal }) => answer(database, { operation: 'list_collections', signal }),
  );
  server.registerTool(
    'describe_collection',
    {
      description:
        'Describes a collection: its vector fields with sizes, distances and models, its field indexes, and how many points it has.',
      inputSchema: { collection },
      annotations: READS,
    },
    ({ collection: name }, { signal }) =>
      answer(database, { operation: 'collection_info', collection: name, signal }),
  );
}

function addReading(server: McpServer, database: ToolDatabase): void {
  server.registerTool(
    'query',
    {
      description:
        'Finds the points of a collection that are nearest to a text (with the name of a model) or to a vector; without either, points by id. describe_collection says which vector fields there are.',
      inputSchema: {
        collection,
        text: z.string().max(1_000_000).optional().describe('Text to search with; needs a model.'),
        model,
        vector: vector.optional().describe('Vector to search with, in place of a text.'),
        using: z
          .string()
          .max(MAX_VECTOR_NAME_CHARACTERS)
          .optional()
          .describe('The vector field; the unnamed one when absent.'),
        filter,
        limit: z.number().int().min(1).max(MAX_HITS).default(DEFAULT_HITS).describe('How many points.'),
        with_payload: z.boolean().default(true).describe('Whether points come with their payload.'),
      },
      annotations: READS,
    },
    ({ collection: name, text, model: by, vector: sent, ...rest }, { signal }) => {
      if (text !== undefined && sent !== undefined) return failure('give a text or a vector, not both');
      if (text !== undefined && by === undefined) return failure('a text needs the name of a model');
      if (hasUnsafeInteger(rest.filter)) return failure(unsafeIn('filter'));
      const query = text === undefined ? sent : { text, model: by };
      const body = { ...rest, ...(query !== undefined && { query }) };
      return answer(database, { operation: 'query', collection: name, body, signal });
    },
  );
  server.registerTool(
    'count',
    {
      description: 'Counts the points of a collection, or those that match a filter.',
      inputSchema: { collection, filter },
      annotations: READS,
    },
    ({ collection: name, filter: matching }, { signal }) => {
      if (hasUnsafeInteger(matching)) return failure(unsafeIn('filter'));
      const body = matching === undefined ? {} : { filter: matching };
      return answer(database, { operation: 'count', collection: name, body, signal });
    },
  );
}

function addUpsert(server: McpServer, database: ToolDatabase): void {
  const one = z.union([vector, z.strictObject({ text: z.string(), model: z.string() })]);
  server.registerTool(
    'upsert',
    {
      description:
        'Adds points to a collection, and replaces those that have the same id. A vector is a list of numbers, a sparse vector {"indices", "values"}, or a text with the name of a model {"text", "model"}.',
      inputSchema: {
        collection,
        points: z
          .array(
            z.strictObject({
              id: z
                .union([z.number().int().nonnegative(), z.string().min(1).max(MAX_ID_CHARACTERS)])
                .describe('An integer or a UUID; any string where the ids of the collection are strings.'),
              vector: z
                .union([one, namedVectors(one)])
                .describe('The unnamed vector, or vectors by the names of their fields.'),
              payload: jsonObject.optional().describe('Any JSON object, without integers beyond 2^53.'),
            }),
          )
          .min(1)
          .max(MAX_POINTS),
      },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    },
    ({ collection: name, points }, { signal }) => {
      const unsafe = points.findIndex(({ payload }) => hasUnsafeInteger(payload));
      if (unsafe !== -1) return failure(unsafeIn(`points[${unsafe}].payload`));
      return answer(database, { operation: 'upsert_points', collection: name, body: { points }, signal });
    },
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Whether a value has an integer that may be another one than was sent: it was parsed with the numbers of JavaScript. One that
 * is too large for them is infinite, which would be sent on as null.
 */
function hasUnsafeInteger(value: unknown): boolean {
  if (typeof value === 'number') {
    return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
  }
  return typeof value === 'object' && value !== null && Object.values(value).some(hasUnsafeInteger);
}

function unsafeIn(place: string): string {
  return `${place} has an integer beyond 2^53, which JSON parsers do not keep: send it as a text, or over the HTTP API`;
}

async function answer(database: ToolDatabase, call: ToolCall): Promise<CallToolResult> {
  let text: string;
  try {
    text = await database.execute(call);
  } catch (error) {
    return failure(error instanceof Error ? error.message : String(error));
  }
  return text.length > MAX_CHARACTERS
    ? failure(`the answer has ${text.length} characters: ask for fewer points, or with_payload false`)
    : { content: [{ type: 'text', text }] };
}

/** A failure that the language model sees, and may do something about. */
function failure(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] };
}
