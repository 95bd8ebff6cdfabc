/**
 * Every operation of Flowise's node for Qdrant.
 *
 *     node --require stand-ins.cjs flowise_node.cjs URL TOKEN (in an environment that has flowise-components)
 */
const { createRequire } = require('node:module');
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { Checks, embeddings } = require('./checks.cjs');

const [url, token] = process.argv.slice(2);
const environment = createRequire(`${process.cwd()}/`);
const components = join(process.cwd(), 'node_modules', 'flowise-components/dist');
const { nodeClass: Node } = require(join(components, 'nodes/vectorstores/Qdrant/Qdrant.js'));
const { QdrantClient } = environment('@qdrant/js-client-rest');

const DOCUMENTS = [
  { pageContent: 'a cat sat on a mat', metadata: { kind: 'pet', source: 'one' } },
  { pageContent: 'dogs dig', metadata: { kind: 'pet', source: 'two' } },
  { pageContent: 'quick brown fox', metadata: { kind: 'wild', source: 'three' } },
];
const WILD = { must: [{ key: 'metadata.kind', match: { value: 'wild' } }] };

/** Which documents are in the collection, as Flowise's record managers keep it in a database. */
class RecordManager {
  namespace = 'flowise';
  cleanup = 'full';
  sourceIdKey = 'source';
  keys = new Map();
  clock = 0;
  createSchema = async () => undefined;
  getTime = async () => (this.clock += 1);
  exists = async (keys) => keys.map((key) => this.keys.has(key));
  listKeys = async ({ before = Infinity } = {}) =>
    [...this.keys].filter(([, at]) => at < before).map(([key]) => key);
  deleteKeys = async (keys) => keys.forEach((key) => this.keys.delete(key));
  update = async (keys) =>
    keys.forEach((key) => this.keys.set(typeof key === 'string' ? key : key.uid, this.clock));
}

const node = new Node();

/** What Flowise gives a node: its inputs, with the key where a credential would be. */
function dataOf(inputs) {
  const plain = {
    qdrantServerUrl: url,
    qdrantCollection: 'flowise',
    embeddings,
    qdrantVectorDimension: '26',
  };
  return {
    credential: '',
    inputs: { ...plain, qdrantApiKey: token, ...inputs },
    outputs: { output: 'retriever' },
  };
}

async function main() {
  const checks = new Checks();
  const upsert = (inputs, options = {}) => node.vectorStoreMethods.upsert(dataOf(inputs), options);
  const remove = (inputs, ids) => node.vectorStoreMethods.delete(dataOf(inputs), ids, {});
  const found = async (query, inputs = {}, options = {}) =>
    (await (await node.init(dataOf(inputs), '', options)).invoke(query)).map(
      ({ pageContent }) => pageContent,
    );
  const { hostname: host, port } = new URL(url);
  const client = new QdrantClient({ host, port: Number(port), https: false, apiKey: token });
  /** A deletion is not waited for by the node. */
  const countBecomes = async (collection, expected) => {
    for (let tries = 0; tries < 600; tries += 1) {
      if ((await client.count(collection)).count === expected) return expected;
      await sleep(100);
    }
    return (await client.count(collection)).count;
  };

  await checks.equal('upsert', async () => (await upsert({ document: [DOCUMENTS] })).numAdded, 3);
  await checks.equal('retrieve', () => found('dogs dig', { topK: '1' }), ['dogs dig']);
  await checks.equal('retrieve filtered', () => found('dogs', { qdrantFilter: JSON.stringify(WILD) }), [
    'quick brown fox',
  ]);
  const store = dataOf({ qdrantFilter: WILD, topK: '2' });
  store.outputs.output = 'vectorStore';
  const direct = async () => {
    const made = await node.init(store, '', {});
    return (await made.similaritySearch('dogs dig', made.k, made.filter)).map(
      ({ pageContent }) => pageContent,
    );
  };
  await checks.equal('vector store', direct, ['quick brown fox']);
  const upload = { fileUpload: true, document: [{ pageContent: 'zebra', metadata: {} }] };
  await checks.done('upsert of a chat', () => upsert(upload, { chatId: 'chat' }));
  const chat = (chatId) => found('zebra', { fileUpload: true, topK: '9' }, { chatId });
  await checks.equal('retrieve of a chat', async () => (await chat('chat'))[0], 'zebra');
  await checks.equal('retrieve of another chat', async () => (await chat('other')).includes('zebra'), false);

  const [{ id }] = (await client.scroll('flowise', { filter: WILD })).points;
  await checks.done('delete', () => remove({}, [id]));
  await checks.equal('deleted', () => countBecomes('flowise', 3), 3);

  const kept = { qdrantCollection: 'flowise-records', recordManager: new RecordManager(), batchSize: '2' };
  const configured = { qdrantCollectionConfiguration: { on_disk_payload: true }, qdrantSimilarity: 'Dot' };
  await checks.equal(
    'upsert with records',
    async () => (await upsert({ ...kept, document: DOCUMENTS })).numAdded,
    3,
  );
  kept.recordManager.namespace = 'flowise';
  await checks.equal(
    'upsert again',
    async () => (await upsert({ ...kept, document: DOCUMENTS })).numSkipped,
    3,
  );
  await checks.equal(
    'fewer documents',
    async () => (await upsert({ ...kept, document: DOCUMENTS.slice(1) })).numDeleted,
    1,
  );
  await checks.equal('only these are left', () => countBecomes('flowise-records', 2), 2);
  await checks.equal('retrieve from records', () => found('dogs dig', { ...kept, topK: '1' }), ['dogs dig']);
  await checks.done('delete with records', () => remove(kept, []));
  await checks.equal('nothing left', () => countBecomes('flowise-records', 0), 0);
  const made = { qdrantCollection: 'flowise-made', ...configured };
  await checks.equal('an empty collection', () => found('dogs', made), []);
  await checks.equal(
    'made as configured',
    async () => (await client.getCollection('flowise-made')).config.params.vectors.distance,
    'Dot',
  );
  checks.report();
}

main();
