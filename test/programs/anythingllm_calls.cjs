/**
 * The calls that AnythingLLM's module for Qdrant makes, in its order and with its arguments. No package has that module;
 * the calls are those of its source (server/utils/vectorDbProviders/qdrant), made by the release of the client that it has.
 *
 *     node anythingllm_calls.cjs URL TOKEN
 */
const { QdrantClient } = require('qdrant-js-1.12');
const { Checks, letters } = require('./checks.cjs');

const [url, token] = process.argv.slice(2);
const NAMESPACE = 'anythingllm';
const IDS = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`);
const TEXTS = ['a cat sat on a mat', 'dogs dig', 'quick brown fox'];

async function main() {
  const checks = new Checks();
  const client = new QdrantClient({ url, apiKey: token, checkCompatibility: false });
  const exists = async () => (await client.getCollection(NAMESPACE).catch(() => null)) !== null;
  const batch = (texts) => ({
    ids: IDS.slice(0, texts.length),
    vectors: texts.map(letters),
    payloads: texts.map((text) => ({ text, title: `title of ${text}` })),
  });
  const upsert = async (texts) =>
    (await client.upsert(NAMESPACE, { wait: true, batch: batch(texts) })).status;
  const search = async (text) => {
    const found = await client.search(NAMESPACE, { vector: letters(text), limit: 4, with_payload: true });
    return found.filter(({ score }) => score >= 0.25).map(({ payload }) => payload.text);
  };

  await checks.equal('heartbeat', async () => (await client.api('cluster').clusterStatus()).ok, true);
  await checks.equal('no namespace', exists, false);
  const vectors = { size: 26, distance: 'Cosine' };
  await checks.equal('create', () => client.createCollection(NAMESPACE, { vectors }), true);
  await checks.equal('namespace', exists, true);
  await checks.equal('add a document', () => upsert(TEXTS), 'completed');
  await checks.equal('count', async () => (await client.count(NAMESPACE, { exact: true })).count, 3);
  await checks.equal(
    'statistics',
    async () => (await client.getCollection(NAMESPACE)).config.params.vectors,
    vectors,
  );
  await checks.equal('search', async () => (await search('dogs dig'))[0], 'dogs dig');
  const points = { wait: true, points: [IDS[1], '00000000-0000-4000-8000-0000000000ff'] };
  await checks.equal(
    'delete a document',
    async () => (await client.delete(NAMESPACE, points)).status,
    'completed',
  );
  await checks.equal('deleted', async () => (await search('dogs dig')).includes('dogs dig'), false);
  const reset = async () => {
    const { collections } = await client.getCollections();
    for (const { name } of collections) await client.deleteCollection(name);
    return (await client.getCollections()).collections;
  };
  await checks.equal('reset', reset, []);
  checks.report();
}

main();
