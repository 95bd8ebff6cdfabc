import type { Answer } from '../http/harness';
import { FakeEndpoint } from '../models/fake-endpoint';
import { description, type Operation } from '../openapi/description';
import { sampled } from '../sample';
import { ContractServer, type Json } from './contract-server';

/** A normal run takes one in so many mutations; `npm run test:long -- cases` takes all. */
const ONE_IN = 24;

/** A placeholder for a number that JSON can write and no float can hold. */
const HUGE = 'a number beyond every float';

/** What takes the place of a value; without one the value is removed. */
const REPLACEMENTS: readonly unknown[] = [
  undefined,
  null,
  true,
  1,
  'text',
  [],
  {},
  -1,
  0,
  2 ** 53,
  HUGE,
  '',
  'x'.repeat(100_000),
];

/** Messages of C1.4 that do not name the place of the fault, or name an alternative to it. */
const NAMED_OTHERWISE =
  /^(searches\[\d+\]: )?(vectors_config is required|Missing required field: (?:points|dense)$|Dimension mismatch for vector '|Vector not found: |Wrong input: (Vector dimension|Not existing vector name) error: |Point not found: |Collection not found: )/;

/**
 * Values whose absence or replacement is first missed elsewhere: a query against the unnamed vector is compared with
 * its kind, and weights are counted against the prefetches.
 */
const MISSED_ELSEWHERE: readonly (readonly [place: RegExp, message: RegExp])[] = [
  [/^using$/, /^query: vector '' is compared with/],
  [/^prefetch(\[\d\])?$/, /^query\.rrf\.weights: Number of weights in RRF should match/],
];

/** What a server that is alone answers to a valid body about the nodes of a cluster. */
const NOT_ALONE = /^this server is no node of a cluster$/;

/** Examples of what is described and not yet served. An entry is removed when it is served. */
const NOT_YET: readonly string[] = [];

const COLLECTIONS: Readonly<Record<string, object>> = {
  articles: { vectors: { size: 4, distance: 'Cosine' }, sparse_vectors: { words: { modifier: 'idf' } } },
  pages: { vectors: { rows: { size: 2, distance: 'Dot', multivector_config: { comparator: 'max_sim' } } } },
};
const POINTS: Readonly<Record<string, readonly object[]>> = {
  articles: [
    {
      id: 1,
      vector: { '': [0.9, 0.1, 0.1, 0.2], words: { indices: [3, 17], values: [0.5, 1.25] } },
      payload: { title: 'the owls', year: 2021, tags: ['birds'], place: { lon: 13.4, lat: 52.5 } },
    },
    { id: 2, vector: [0.1, 0.8, 0.2, 0.1], payload: { title: 'Foxes', year: 1999 } },
    { id: 8, vector: [0.2, 0.2, 0.2, 0.9], payload: {} },
  ],
  pages: [
    {
      id: 1,
      vector: {
        rows: [
          [1, 0],
          [0, 1],
        ],
      },
    },
  ],
};

/** The server of the case that runs: some endpoints answer in the dialect `qdrant` only (C12). */
let server: ContractServer;
let specification: ContractServer;
let qdrant: ContractServer;
let endpoint: FakeEndpoint;

beforeAll(async () => {
  endpoint = await FakeEndpoint.start();
  // The model of the examples of re-embeddings.
  const models = [{ name: 'letters', url: endpoint.url, model: 'fake' }];
  const env = { KITHDB_MODELS: JSON.stringify(models) };
  specification = await ContractServer.start([], env);
  qdrant = await ContractServer.start(['--dialect', 'qdrant'], env);
});
afterAll(async () => {
  await specification.stop();
  await qdrant.stop();
  await endpoint.stop();
});

/** Makes the collections of the server anew: a case must not find what another one left. */
async function begin(): Promise<void> {
  for (const [name, body] of Object.entries(COLLECTIONS)) {
    const path = `/collections/${name}`;
    await server.call('DELETE', path);
    await server.ok('PUT', path, body);
    await restore(name);
  }
}

/** Brings the points back that an accepted request may have changed. */
async function restore(collection: string): Promise<void> {
  await server.ok('PUT', `/collections/${collection}/points`, { points: POINTS[collection] });
}

/** All that a refused request must leave as it was; not how far the indexing has come. */
async function state(collection: string): Promise<string> {
  const path = `/collections/${collection}`;
  const page = await server.call('POST', `${path}/points/scroll`, { limit: 1000, with_vector: true });
  const {
    config,
    payload_schema: fields,
    points_count: count,
  } = (await server.call('GET', path)).body.result;
  const { collections } = await server.ok('GET', '/collections');
  return JSON.stringify([page.body.result, config, fields, count, collections]);
}

/** A body with one value replaced, and where. */
interface Mutation {
  readonly place: string;
  readonly body: Json;
  readonly title: string;
}

/** Each value of a body replaced by each of the replacements. Of a list of numbers only the first is replaced. */
function* mutationsOf(body: Json): Generator<Mutation> {
  for (const steps of placesOf(body, [])) {
    for (const replacement of REPLACEMENTS) {
      const mutated = structuredClone(body);
      const parent = steps.slice(0, -1).reduce((at: Json, step) => at[step], mutated);
      const last = steps.at(-1)!;
      if (JSON.stringify(parent[last]) === JSON.stringify(replacement)) continue;
      if (replacement !== undefined) parent[last] = replacement;
      else if (Array.isArray(parent)) parent.splice(Number(last), 1);
      else Reflect.deleteProperty(parent, last);
      const place = placeOf(steps);
      const shown = replacement === undefined ? 'removed' : JSON.stringify(replacement).slice(0, 40);
      yield { place, body: mutated, title: `${place} ${shown}` };
    }
  }
}

type Step = string | number;

function* placesOf(value: Json, steps: readonly Step[]): Generator<readonly Step[]> {
  if (steps.length > 0) yield steps;
  if (typeof value !== 'object' || value === null) return;
  const keys: Step[] = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  for (const key of typeof value[0] === 'number' ? keys.slice(0, 1) : keys) {
    yield* placesOf(value[key], [...steps, key]);
  }
}

function placeOf(steps: readonly Step[]): string {
  return steps.reduce<string>(
    (place, step) => (typeof step === 'number' ? `${place}[${step}]` : `${place}${place && '.'}${step}`),
    '',
  );
}

/** Whether a message names a place, what it is in, or what is in it: what is wrong with `limit` may be its `offset`. */
function namesPlace(message: string, place: string): boolean {
  const steps = place.split(/(?=[.[])/);
  return steps.some((_step, length) => message.includes(steps.slice(0, steps.length - length).join('')));
}

/** Whether the description rules a body out. A field that is null is absent (C1.10). */
function isRuledOut(operation: Operation, body: Json): boolean {
  const without: unknown = JSON.parse(written(body), function (_key, value: unknown) {
    return value === null && !Array.isArray(this) ? undefined : value;
  });
  return description().bodyFault(operation, without) !== undefined;
}

function written(body: Json): string {
  return JSON.stringify(body).replaceAll(`"${HUGE}"`, '1e400');
}

/** Sends a body to an endpoint. What it creates is removed again. */
async function ask({ method, path }: Operation, collection: string, body: Json): Promise<Answer> {
  const creates = path === '/collections/{collection_name}' && method === 'PUT';
  const adds = path.endsWith('/vectors/{vector_name}');
  const named = path.replace('{collection_name}', creates ? 'made' : collection);
  const ofReembedding = path.includes('/reembed');
  // Two quotes are the unnamed vector.
  const target = named.replace('{vector_name}', ofReembedding ? '%22%22' : 'added');
  const answer = await server.raw(method, target, written(body));
  if ((creates || adds) && answer.status === 200) await server.ok('DELETE', target);
  if (answer.status === 202) await server.ok('POST', `${target}/abort`);
  return answer;
}

/** What is wrong with the answer to a mutated body, or undefined. */
function judge(
  operation: Operation,
  { place, body }: Mutation,
  { status, body: answer, text }: Answer,
): unknown {
  const message: string = answer?.status?.error ?? '';
  if (status === 200 || status === 202 || NOT_ALONE.test(message)) {
    return isRuledOut(operation, body) ? 'accepted, and the description rules it out' : undefined;
  }
  if (![400, 404, 409, 413].includes(status)) return `${status} ${text}`;
  const elsewhere = MISSED_ELSEWHERE.some(([at, says]) => at.test(place) && says.test(message));
  if (status === 400 && !elsewhere && !NAMED_OTHERWISE.test(message) && !namesPlace(message, place)) {
    return `does not name the place: ${message.slice(0, 200)}`;
  }
  return undefined;
}

const CASES = description()
  .operations.filter(({ path }) => path.startsWith('/collections'))
  .flatMap((operation) =>
    operation.examples.map(
      (example): [title: string, operation: Operation, collection: string, body: Json] => [
        `${operation.id}, ${example.name}`,
        operation,
        example.collection ?? 'articles',
        example.value,
      ],
    ),
  );

it('has a valid body for every endpoint of collections and points that takes one', () => {
  const taking = description().operations.filter(
    ({ path, body }) => path.startsWith('/collections') && body !== undefined,
  );
  expect(new Set(CASES.map(([, operation]) => operation.id))).toEqual(new Set(taking.map(({ id }) => id)));
});

it.each(CASES)(
  'C1.4, C1.7, C1.11 %s: with each value removed, retyped or out of range it is refused by its place or taken, and a refusal changes nothing',
  async (title, operation, collection, body) => {
    server = '501' in operation.responses ? qdrant : specification;
    await begin();
    const valid = await ask(operation, collection, body);
    if (valid.status === 400 && NOT_YET.includes(title)) return;
    // A recovery names a snapshot that there is not, and a commit a re-embedding.
    const isAbsent = operation.id.startsWith('recover_') || operation.id === 'commit_reembedding';
    // The server is alone: `test/system/cluster-routes.test.ts` has a cluster.
    const isOfCluster = operation.id === 'update_collection_cluster';
    const expected = isAbsent ? 404 : isOfCluster ? 400 : '202' in operation.responses ? 202 : 200;
    expect([valid.status, valid.text]).toEqual([expected, expect.any(String)]);
    await restore(collection);

    const changes = '507' in operation.responses;
    const wrong: unknown[] = [];
    let before = await state(collection);
    for (const mutation of sampled([...mutationsOf(body)], ONE_IN)) {
      const answer = await ask(operation, collection, mutation.body);
      const fault = judge(operation, mutation, answer);
      if (fault !== undefined) wrong.push([mutation.title, fault]);
      if (!changes) continue;
      if (answer.status === 200) {
        await restore(collection);
        before = await state(collection);
      } else {
        expect([mutation.title, await state(collection)]).toEqual([mutation.title, before]);
      }
    }
    expect(await state(collection)).toEqual(before);
    expect(wrong).toEqual([]);
  },
  120_000,
);
