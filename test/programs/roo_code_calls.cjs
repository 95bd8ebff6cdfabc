/**
 * The calls that Roo Code's index of a workspace makes, in its order and with its arguments. No package has that module;
 * the calls are those of its source (src/services/code-index/vector-store), made by the client that it has.
 *
 *     node roo_code_calls.cjs URL TOKEN
 */
const { QdrantClient } = require('@qdrant/js-client-rest');
const { Checks, letters } = require('./checks.cjs');

const [url, token] = process.argv.slice(2);
const COLLECTION = 'ws-0123456789abcdef';
const MARK = '00000000-0000-5000-8000-000000000001';
const FILES = ['src/a/cat.ts', 'src/a/dog.ts', 'src/fox.ts'];
const TEXTS = ['a cat sat on a mat', 'dogs dig', 'quick brown fox'];

/** Each part of a path under its place in it. */
const segmentsOf = (path) =>
  Object.fromEntries(path.split('/').map((segment, index) => [`${index}`, segment]));
const within = (path) =>
  path.split('/').map((segment, index) => ({ key: `pathSegments.${index}`, match: { value: segment } }));

async function main() {
  const checks = new Checks();
  const { hostname: host, port } = new URL(url);
  const headers = { 'User-Agent': 'Roo-Code' };
  const client = new QdrantClient({ host, https: false, port: Number(port), apiKey: token, headers });
  const info = () => client.getCollection(COLLECTION).catch(() => null);
  const create = (size) =>
    client.createCollection(COLLECTION, {
      vectors: { size, distance: 'Cosine', on_disk: true },
      hnsw_config: { m: 64, ef_construct: 512, on_disk: true },
    });
  const mark = (isComplete) =>
    client.upsert(COLLECTION, {
      points: [
        {
          id: MARK,
          vector: new Array(26).fill(0),
          payload: { type: 'metadata', indexing_complete: isComplete },
        },
      ],
      wait: true,
    });
  const isComplete = async () =>
    (await client.retrieve(COLLECTION, { ids: [MARK] }))[0]?.payload.indexing_complete;
  const search = async (text, folder) => {
    const { points } = await client.query(COLLECTION, {
      query: letters(text),
      filter: {
        ...(folder && { must: within(folder) }),
        must_not: [{ key: 'type', match: { value: 'metadata' } }],
      },
      score_threshold: 0.1,
      limit: 50,
      params: { hnsw_ef: 128, exact: false },
      with_payload: { include: ['filePath', 'codeChunk', 'startLine', 'endLine', 'pathSegments'] },
    });
    return points.map(({ payload }) => payload.filePath);
  };
  const remove = (filter) => client.delete(COLLECTION, { filter, wait: true });

  await checks.equal('absent', info, null);
  await checks.done('create for another model', () => create(4));
  await checks.equal('size', async () => (await info()).config.params.vectors.size, 4);
  await checks.done('delete', () => client.deleteCollection(COLLECTION));
  await checks.equal('deleted', info, null);
  await checks.done('create', () => create(26));
  for (const field_name of ['type', ...[0, 1, 2, 3, 4].map((place) => `pathSegments.${place}`)]) {
    await checks.done(`index ${field_name}`, () =>
      client.createPayloadIndex(COLLECTION, { field_name, field_schema: 'keyword' }),
    );
  }
  await checks.equal('not marked', isComplete, undefined);
  await checks.done('mark as incomplete', () => mark(false));
  await checks.equal('incomplete', isComplete, false);
  const points = FILES.map((filePath, index) => ({
    id: `00000000-0000-5000-8000-00000000001${index}`,
    vector: letters(TEXTS[index]),
    payload: {
      filePath,
      codeChunk: TEXTS[index],
      startLine: 1,
      endLine: 2,
      pathSegments: segmentsOf(filePath),
    },
  }));
  await checks.done('upsert', () => client.upsert(COLLECTION, { points, wait: true }));
  await checks.done('mark as complete', () => mark(true));
  await checks.equal('complete', isComplete, true);
  await checks.equal('points', async () => (await info()).points_count, 4);
  await checks.equal('search', async () => (await search('dogs dig'))[0], FILES[1]);
  await checks.equal(
    'search in a folder',
    async () => (await search('a dog', 'src/a')).sort(),
    FILES.slice(0, 2),
  );
  await checks.done('delete a file', () => remove({ must: within(FILES[0]) }));
  const several = { should: [{ must: within(FILES[1]) }, { must: within('src/none.ts') }] };
  await checks.done('delete several files', () => remove(several));
  await checks.equal('files deleted', () => search('fox'), [FILES[2]]);
  await checks.done('clear', () => remove({ must: [] }));
  await checks.equal('cleared', async () => (await client.count(COLLECTION)).count, 0);
  await checks.done('delete collection', () => client.deleteCollection(COLLECTION));
  checks.report();
}

main();
