/**
 * Every call of Mastra's vector store for Qdrant.
 *
 *     node mastra_store.mjs URL TOKEN (in an environment that has @mastra/core and @mastra/qdrant)
 */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import checks_ from './checks.cjs';

const { Checks, letters } = checks_;
const [url, token] = process.argv.slice(2);
const environment = createRequire(`${process.cwd()}/`);
const entry = environment.resolve('@mastra/qdrant').replace(/index\.cjs$/, 'index.js');
const { QdrantVector } = await import(pathToFileURL(entry).href);

const IDS = [1, 2, 3, 4].map((n) => `00000000-0000-4000-8000-00000000000${n}`);
const TEXTS = ['a cat sat on a mat', 'a cat sat on a mat again', 'dogs dig', 'quick brown fox'];
const METADATA = TEXTS.map((text, index) => ({
  text,
  page: index + 1,
  kind: index === 3 ? 'wild' : 'pet',
  tags: index === 0 ? ['cat', 'mat'] : index === 1 ? ['cat'] : [],
  nested: { depth: index },
  at: `2026-01-0${index + 1}T00:00:00Z`,
  place: { lon: 13 + index, lat: 52 },
  none: index === 2 ? null : 'some',
}));

/** Filters as Mastra documents them, and the pages that they find. */
const FILTERS = [
  [{}, [1, 2, 3, 4]],
  [{ kind: 'wild' }, [4]],
  [{ kind: 'pet', page: 2 }, [2]],
  [{ page: { $gt: 2 } }, [3, 4]],
  [{ page: { $gte: 2, $lt: 4 } }, [2, 3]],
  [{ page: { $ne: 1 } }, [2, 3, 4]],
  [{ kind: { $in: ['wild', 'other'] } }, [4]],
  [{ page: [1, 3] }, [1, 3]],
  [{ kind: { $nin: ['pet'] } }, [4]],
  [{ tags: { $all: ['cat', 'mat'] } }, [1]],
  [{ text: { $regex: 'fox' } }, [4]],
  [{ none: { $exists: true } }, [1, 2, 4]],
  [{ absent: { $exists: false } }, [1, 2, 3, 4]],
  [{ none: null }, [3]],
  [{ tags: [] }, [3, 4]],
  [{ nested: { depth: 2 } }, [3]],
  [{ $or: [{ page: 1 }, { kind: 'wild' }] }, [1, 4]],
  [{ $and: [{ page: { $gt: 1 } }, { kind: 'pet' }] }, [2, 3]],
  [{ $not: { kind: 'pet' } }, [4]],
  [{ page: { $not: { $gt: 2 } } }, [1, 2]],
  [{ tags: { $count: { $gt: 1 } } }, [1]],
  [{ at: { $datetime: { range: { gte: '2026-01-03T00:00:00Z' } } } }, [3, 4]],
  [{ place: { $geo: { type: 'radius', center: { lon: 13, lat: 52 }, radius: 1000 } } }, [1]],
  [
    {
      place: {
        $geo: { type: 'box', top_left: { lon: 13.5, lat: 53 }, bottom_right: { lon: 14.5, lat: 51 } },
      },
    },
    [2],
  ],
  [{ $hasId: [IDS[1], IDS[2]] }, [2, 3]],
];

const checks = new Checks();
const store = new QdrantVector({ id: 'mastra', url, apiKey: token });
const at = { indexName: 'mastra' };
const found = async (text, more = {}) =>
  (await store.query({ ...at, queryVector: letters(text), ...more })).map(({ metadata }) => metadata.text);

await checks.done('create', () => store.createIndex({ ...at, dimension: 26, metric: 'cosine' }));
await checks.done('create again', () => store.createIndex({ ...at, dimension: 26, metric: 'cosine' }));
await checks.equal('names', async () => (await store.listIndexes()).includes('mastra'), true);
const upsert = { ...at, vectors: TEXTS.map(letters), metadata: METADATA, ids: IDS };
await checks.equal('upsert', () => store.upsert(upsert), IDS);
await checks.equal('describe', () => store.describeIndex(at), { dimension: 26, count: 4, metric: 'cosine' });
await checks.equal('query', () => found(TEXTS[0], { topK: 2 }), TEXTS.slice(0, 2));
const withVector = async () =>
  (await store.query({ ...at, queryVector: letters('dogs dig'), topK: 1, includeVector: true }))[0].vector
    .length;
await checks.equal('query with vectors', withVector, 26);
for (const [filter, pages] of FILTERS) {
  const hits = async () =>
    (await store.query({ ...at, queryVector: letters('a cat'), filter })).map((h) => h.metadata.page);
  await checks.equal(`filter ${JSON.stringify(filter)}`, async () => (await hits()).sort(), pages);
}
for (const [fieldName, fieldSchema] of [
  ['page', 'integer'],
  ['kind', 'keyword'],
  ['text', 'text'],
  ['at', 'datetime'],
  ['place', 'geo'],
]) {
  await checks.done(`index ${fieldName}`, () => store.createPayloadIndex({ ...at, fieldName, fieldSchema }));
}
await checks.done('index again', () =>
  store.createPayloadIndex({ ...at, fieldName: 'page', fieldSchema: 'integer' }),
);
await checks.equal('query by an index', () => found('fox', { filter: { text: { $regex: 'fox' } } }), [
  TEXTS[3],
]);
await checks.done('drop index', () => store.deletePayloadIndex({ ...at, fieldName: 'page' }));
await checks.done('drop an absent index', () => store.deletePayloadIndex({ ...at, fieldName: 'page' }));
await checks.done('update metadata', () =>
  store.updateVector({ ...at, id: IDS[0], update: { metadata: { seen: true } } }),
);
await checks.equal('updated metadata', () => found('a cat', { filter: { seen: true } }), [TEXTS[0]]);
await checks.done('update vector', () =>
  store.updateVector({ ...at, id: IDS[0], update: { vector: letters('zebra') } }),
);
await checks.equal('updated vector', () => found('zebra', { topK: 1 }), [TEXTS[0]]);
const both = { vector: letters('owl'), metadata: { text: 'owl', kind: 'wild' } };
await checks.done('update both', () => store.updateVector({ ...at, id: IDS[0], update: both }));
await checks.equal('updated both', () => found('owl', { topK: 1 }), ['owl']);
const wild = { kind: 'wild' };
await checks.done('update by filter', () =>
  store.updateVector({ ...at, filter: wild, update: { metadata: { far: 1 } } }),
);
await checks.equal('updated by filter', async () => (await found('owl', { filter: { far: 1 } })).length, 2);
const update = { vector: letters('yak'), metadata: { kind: 'wild', text: 'yak' } };
await checks.done('update vectors by filter', () => store.updateVector({ ...at, filter: wild, update }));
await checks.equal('updated vectors', () => found('yak', { topK: 2 }), ['yak', 'yak']);
await checks.done('delete', () => store.deleteVector({ ...at, id: IDS[1] }));
await checks.done('delete several', () => store.deleteVectors({ ...at, ids: [IDS[0], '7'] }));
await checks.done('delete by filter', () => store.deleteVectors({ ...at, filter: wild }));
await checks.equal('deleted', () => found('anything'), [TEXTS[2]]);
await checks.done('delete index', () => store.deleteIndex(at));
await checks.done('delete an absent index', () => store.deleteIndex(at));

const named = { indexName: 'mastra-named' };
const namedVectors = { text: { size: 26, distance: 'cosine' }, image: { size: 2, distance: 'euclidean' } };
await checks.done('create with names', () => store.createIndex({ ...named, namedVectors }));
await checks.done('create with names again', () => store.createIndex({ ...named, namedVectors }));
await checks.equal(
  'upsert with a name',
  () =>
    store.upsert({
      ...named,
      vectors: [letters('owl')],
      ids: [7],
      metadata: [{ text: 'owl' }],
      vectorName: 'text',
    }),
  [7],
);
const namedQuery = async () =>
  (await store.query({ ...named, queryVector: letters('owl'), using: 'text', includeVector: true }))[0];
await checks.equal(
  'query with a name',
  async () => [(await namedQuery()).id, (await namedQuery()).vector.length],
  [7, 26],
);
await checks.done('delete index with names', () => store.deleteIndex(named));
checks.report();
