/**
 * Every operation of n8n's node for Qdrant, with a context that gives what a workflow would.
 *
 *     node --require stand-ins.cjs n8n_node.cjs URL TOKEN (in an environment that has the node's package)
 */
const { join } = require('node:path');
const { Checks, embeddings } = require('./checks.cjs');

const [url, token] = process.argv.slice(2);
const stores = join(process.cwd(), 'node_modules', '@n8n/n8n-nodes-langchain/dist/nodes/vector_store');
const { VectorStoreQdrant } = require(join(stores, 'VectorStoreQdrant/VectorStoreQdrant.node.js'));
const { qdrantCollectionsSearch } = require(join(stores, 'shared/methods/listSearch.js'));

const DOCUMENTS = [
  { pageContent: 'a cat sat on a mat', metadata: { kind: 'pet', page: 1 } },
  { pageContent: 'dogs dig', metadata: { kind: 'pet', page: 2 } },
  { pageContent: 'quick brown fox', metadata: { kind: 'wild', page: 3 } },
];
const WILD = { must: [{ key: 'metadata.kind', match: { value: 'wild' } }] };

/** What n8n gives a node that runs: its parameters, credentials, inputs and what is connected to it. */
function contextOf(parameters, typeVersion = 1.3) {
  const node = { name: 'Qdrant', type: 'vectorStoreQdrant', typeVersion, parameters };
  const options = Object.fromEntries(
    Object.entries(parameters.options ?? {}).map(([key, value]) => [`options.${key}`, value]),
  );
  const all = { qdrantCollection: 'n8n', options: {}, ...parameters, ...options };
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  return {
    logger,
    getNode: () => node,
    getNodeParameter: (name, _, fallback) => all[name] ?? fallback,
    getCredentials: async () => ({ qdrantUrl: url, apiKey: token }),
    getInputData: () => [{ json: { input: 'dogs dig' } }],
    getInputConnectionData: async (type) => (type === 'ai_document' ? parameters.documents : embeddings),
    getExecutionCancelSignal: () => undefined,
    addInputData: () => ({ index: 0 }),
    addOutputData: () => undefined,
    getWorkflow: () => ({ id: '1', name: 'test' }),
    getWorkflowDataProxy: () => ({}),
    getExecutionId: () => '1',
    evaluateExpression: (expression) => expression,
    logAiEvent: () => undefined,
    continueOnFail: () => false,
    helpers: {},
  };
}

async function main() {
  const checks = new Checks();
  const node = new VectorStoreQdrant();
  const run = (parameters, version) => node.execute.call(contextOf(parameters, version));
  const supply = (parameters) => node.supplyData.call(contextOf(parameters), 0);
  const contents = ([items]) => items.map(({ json }) => json.document.pageContent);

  await checks.equal(
    'insert',
    async () => (await run({ mode: 'insert', documents: DOCUMENTS.slice(0, 2) }))[0].length,
    2,
  );
  await checks.done('insert as a former version', () =>
    run({ mode: 'insert', documents: DOCUMENTS.slice(2) }, 1),
  );
  const load = { mode: 'load', prompt: 'dogs dig', topK: 1 };
  await checks.equal('load', async () => contents(await run(load)), ['dogs dig']);
  await checks.equal('load with metadata', async () => (await run(load))[0][0].json.document.metadata, {
    kind: 'pet',
    page: 2,
  });
  const filtered = { ...load, topK: 3, options: { searchFilterJson: WILD } };
  await checks.equal('load filtered', async () => contents(await run(filtered)), ['quick brown fox']);
  const store = async (more = {}) => (await supply({ mode: 'retrieve', ...more })).response;
  await checks.equal(
    'retrieve',
    async () => (await (await store()).similaritySearch('dogs dig', 1)).map(({ pageContent }) => pageContent),
    ['dogs dig'],
  );
  await checks.equal(
    'retrieve filtered',
    async () =>
      (await (await store({ options: filtered.options })).similaritySearch('dogs', 3)).map(
        (d) => d.pageContent,
      ),
    ['quick brown fox'],
  );
  const tool = async () =>
    (await supply({ mode: 'retrieve-as-tool', toolDescription: 'finds', topK: 1 })).response;
  await checks.equal(
    'as a tool',
    async () => JSON.stringify(await (await tool()).func({ input: 'dogs dig' })).includes('dogs dig'),
    true,
  );
  await checks.equal(
    'as a tool that runs',
    async () => JSON.stringify(await run({ mode: 'retrieve-as-tool', topK: 1 })).includes('dogs dig'),
    true,
  );
  const names = { contentPayloadKey: 'text', metadataPayloadKey: 'about' };
  const collectionConfig = { vectors: { size: 26, distance: 'Dot' } };
  const other = { qdrantCollection: 'n8n-names', documents: DOCUMENTS };
  await checks.done('insert with names of its own', () =>
    run({ mode: 'insert', ...other, options: { ...names, collectionConfig } }),
  );
  await checks.equal(
    'load with names of its own',
    async () => contents(await run({ ...load, ...other, options: names })).length,
    1,
  );
  await checks.equal(
    'collections',
    async () => (await qdrantCollectionsSearch.call(contextOf({}))).results.map(({ name }) => name).sort(),
    ['n8n', 'n8n-names'],
  );
  checks.report();
}

main();
