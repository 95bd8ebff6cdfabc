import { Document } from '@langchain/core/documents';
import { Embeddings } from '@langchain/core/embeddings';
import { QdrantVectorStore, type QdrantLibArgs } from '@langchain/qdrant';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGuardedServer, type GuardedServer } from './guarded-server';

const SIZE = 26;

/** How often each letter occurs: texts of the same letters are near. */
class LetterEmbeddings extends Embeddings {
  constructor() {
    super({});
  }

  embedQuery(text: string): Promise<number[]> {
    const counts = new Array<number>(SIZE).fill(0);
    for (const letter of text.toLowerCase().match(/[a-z]/g) ?? []) counts[letter.charCodeAt(0) - 97]! += 1;
    return Promise.resolve(counts);
  }

  embedDocuments(texts: string[]): Promise<number[][]> {
    return Promise.all(texts.map((text) => this.embedQuery(text)));
  }
}

const IDS = [1, 2, 3, 4].map((n) => `00000000-0000-4000-8000-00000000000${n}`);

const EXTRA = '00000000-0000-4000-8000-000000000009';

const DOCUMENTS = [
  new Document({ pageContent: 'a cat sat on a mat', metadata: { kind: 'pet', page: 1 } }),
  new Document({ pageContent: 'a cat sat on a mat again', metadata: { kind: 'pet', page: 2 } }),
  new Document({ pageContent: 'dogs dig', metadata: { kind: 'pet', page: 3 } }),
  new Document({ pageContent: 'quick brown fox', metadata: { kind: 'wild', page: 4 } }),
];

describe.each(['specification', 'qdrant'])(
  'LangChain.js, unchanged, in the dialect %s (C9.1, C12)',
  (dialect) => {
    const folder = mkdtempSync(join(tmpdir(), 'kithdb-langchain-'));
    let server: GuardedServer;
    let token: string;

    beforeAll(async () => {
      server = await startGuardedServer(join(folder, 'data'), ['--dialect', dialect]);
      token = await server.accessToken('read,write');
    });

    afterAll(async () => {
      expect(await server.stop()).toBe(0);
      rmSync(folder, { recursive: true, force: true });
    });

    describe('@langchain/qdrant', () => {
      let store: QdrantVectorStore;
      const wild = { must: [{ key: 'metadata.kind', match: { value: 'wild' } }] };
      /** Its client warns of a key that is sent without TLS, each time: the server is on this machine. */
      const here = (collectionName: string): QdrantLibArgs => ({
        url: server.url,
        apiKey: token,
        collectionName,
      });
      const texts = (found: readonly { readonly pageContent: string }[]) =>
        found.map(({ pageContent }) => pageContent);

      beforeAll(async () => {
        jest.spyOn(console, 'warn').mockImplementation();
        store = await QdrantVectorStore.fromExistingCollection(new LetterEmbeddings(), here('langchain'));
        await store.addDocuments(DOCUMENTS, { ids: IDS });
      });

      afterAll(() => {
        jest.restoreAllMocks();
      });

      test('made the collection that its embeddings need', async () => {
        const { config, points_count } = await store.client.getCollection('langchain');
        expect(config.params.vectors).toMatchObject({ size: SIZE, distance: 'Cosine' });
        expect(points_count).toBe(DOCUMENTS.length);
      });

      test('finds similar documents, with scores and with filters', async () => {
        const found = await store.similaritySearch('a cat sat on a mat', 2);
        expect(found.map(({ id }) => id)).toEqual(IDS.slice(0, 2));
        expect(found[1]).toMatchObject({
          pageContent: 'a cat sat on a mat again',
          metadata: { kind: 'pet', page: 2 },
        });
        const scored = await store.similaritySearchWithScore('quick brown fox', 4);
        expect(scored[0]![0].pageContent).toBe('quick brown fox');
        expect(scored[0]![1]).toBeCloseTo(1, 5);
        const scores = scored.map(([, score]) => score);
        expect(scores).toEqual([...scores].sort((a, b) => b - a));
        expect(texts(await store.similaritySearch('a cat sat on a mat', 4, wild))).toEqual([
          'quick brown fox',
        ]);
      });

      test('finds by a vector what it finds by its text', async () => {
        const vector = await new LetterEmbeddings().embedQuery('a cat sat on a mat');
        const found = await store.similaritySearchVectorWithScore(vector, 2);
        expect(found.map(([{ id }]) => id)).toEqual(IDS.slice(0, 2));
        expect(found[0]![1]).toBeCloseTo(1, 5);
        const filtered = await store.similaritySearchVectorWithScore(vector, 4, wild);
        expect(texts(filtered.map(([document]) => document))).toEqual(['quick brown fox']);
      });

      test('adds vectors that are there already', async () => {
        const vector = await new LetterEmbeddings().embedQuery('zebra');
        const document = new Document({ pageContent: 'zebra', metadata: { kind: 'extra' } });
        await store.addVectors([vector], [document], { ids: [EXTRA] });
        expect(texts(await store.similaritySearch('zebra', 1))).toEqual(['zebra']);
        await store.delete({ ids: [EXTRA] });
        expect(texts(await store.similaritySearch('zebra', 1))).not.toContain('zebra');
      });

      test('finds documents that differ from each other', async () => {
        const options = { k: 2, fetchK: 4, lambda: 0.7 };
        const found = await store.maxMarginalRelevanceSearch('a cat sat on a mat', options);
        expect(texts(found)[0]).toBe('a cat sat on a mat');
        // The most similar one but for the first says the same again.
        expect(texts(found)).not.toContain('a cat sat on a mat again');
      });

      test('is a retriever', async () => {
        const plain = store.asRetriever({ k: 1 });
        expect(texts(await plain.invoke('dogs dig'))).toEqual(['dogs dig']);
        const filtered = store.asRetriever({ k: 3, filter: wild });
        expect(texts(await filtered.invoke('dogs dig'))).toEqual(['quick brown fox']);
        const diverse = store.asRetriever({ searchType: 'mmr', k: 1, searchKwargs: { fetchK: 4 } });
        expect(texts(await diverse.invoke('dogs dig'))).toEqual(['dogs dig']);
      });

      test('is made from texts, and loses what is deleted by id and by filter', async () => {
        const made = await QdrantVectorStore.fromTexts(
          ['one', 'two', 'three'],
          [{ n: 1 }, { n: 2 }, { n: 3 }],
          new LetterEmbeddings(),
          here('langchain-texts'),
        );
        const [one] = await made.similaritySearch('one', 1);
        expect(one).toMatchObject({ pageContent: 'one', metadata: { n: 1 } });
        await made.delete({ ids: [one!.id!] });
        expect(texts(await made.similaritySearch('one', 3)).sort()).toEqual(['three', 'two']);
        await made.delete({ filter: { must: [{ key: 'metadata.n', range: { gt: 2 } }] } });
        expect(texts(await made.similaritySearch('one', 3))).toEqual(['two']);
      });

      test('keeps documents under names of its own, with what else belongs to them', async () => {
        const made = await QdrantVectorStore.fromDocuments(DOCUMENTS.slice(0, 2), new LetterEmbeddings(), {
          ...here('langchain-names'),
          contentPayloadKey: 'text',
          metadataPayloadKey: 'about',
          customPayload: [{ owner: 'Ada' }, { owner: 'Bob' }],
        });
        const filter = { must: [{ key: 'customPayload.owner', match: { value: 'Bob' } }] };
        expect(texts(await made.similaritySearch('cat', 2, filter))).toEqual([DOCUMENTS[1]!.pageContent]);
      });
    });
  },
);
