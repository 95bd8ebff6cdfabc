import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from '../../src/index';
import { pointId } from '../../src/migration/chroma-record';
import { runCommand, type Outcome } from '../cli/run-command';
import type { Json } from '../contract/contract-server';
import { chromaInfo, FakeChroma, type FakeChromaCollection } from './fake-chroma';

/** `kithdb migrate chroma` (C11.4), from a fake; `npm run test:long -- chroma` has a real server. */
describe('kithdb migrate chroma', () => {
  let folder: string;
  let fake: FakeChroma;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kithdb-migrate-'));
  });
  afterEach(async () => {
    await fake.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function migrate(
    collections: Record<string, FakeChromaCollection>,
    ...flags: string[]
  ): Promise<Outcome> {
    fake = new FakeChroma(collections);
    const url = await fake.start();
    const argv = ['migrate', 'chroma', '--from', url, '--data-dir', join(folder, 'data')];
    const env = { KITHDB_SOURCE_TOKEN: 'secret' };
    return runCommand([...argv, '--state', join(folder, 'state.json'), ...flags], env);
  }

  const UUID = '8f1f1a9c-1c5d-4a53-9f0e-0b6c9f0e1a2b';

  it('C11.4 records become points: metadata, document and URI their payload, and ids that are none keep their text', async () => {
    const embedding_function = { type: 'known', name: 'default', config: {} };
    const configuration_json = {
      hnsw: { space: 'cosine', ef_construction: 64, ef_search: 50, max_neighbors: 8 },
      spann: null,
      embedding_function,
    };
    const { code, out, err } = await migrate(
      {
        articles: {
          info: chromaInfo(
            'articles',
            {},
            { configuration_json, metadata: { team: 'a', n: 1 }, dimension: 2 },
          ),
          records: [
            {
              id: '1',
              embedding: [3, 4],
              document: 'one',
              metadata: { s: 'x', i: 7, b: true, f: 1.5, 'q"': 'ü', list: ['a', 'b'] },
              uri: 'file:///a',
            },
            { id: UUID, embedding: [1, 0] },
            { id: 'doc ä/3', embedding: [0.1, 0.2], document: 'three', metadata: { f: 2 } },
            { id: '07', embedding: [5, 5] },
            { id: UUID.toUpperCase(), embedding: [5, 5] },
            { id: '18446744073709551616', embedding: [5, 5] },
          ],
        },
        empty: { info: chromaInfo('empty', {}), records: [] },
        old: {
          info: chromaInfo('old', {}, { metadata: { 'hnsw:space': 'ip', 'hnsw:M': 24 } }),
          records: [{ id: 'a', embedding: [1, 2, 3] }],
        },
      },
      '--json',
    );
    expect([code, err]).toEqual([3, '']);
    expect(fake.tokens).toEqual(new Set(['secret']));
    const { source, collections } = JSON.parse(out);
    expect(source).toBe('Chroma (API 1.0.0)');
    expect(collections).toMatchObject([
      {
        name: 'articles',
        stored: 6,
        remarks: ['The embedding function default is not migrated: vectors come with each request'],
        compared: { source: 6, target: 6, sampled: 6, different: [] },
      },
      { name: 'empty', failure: 'It is not created: it has no records, and so no dimension' },
      { name: 'old', stored: 1, compared: { different: [] } },
    ]);
    const db = await open(join(folder, 'data'));
    try {
      const { config } = (await db.getCollection('articles')) as Json;
      expect(config.params.vectors).toEqual({ size: 2, distance: 'Cosine' });
      expect(config.hnsw_config).toMatchObject({ m: 8, ef_construct: 64, ef_search: 50 });
      expect(config.metadata).toEqual({ team: 'a', n: 1 });
      const old = (await db.getCollection('old')) as Json;
      expect(old.config.params.vectors).toEqual({ size: 3, distance: 'Dot' });
      expect([old.config.hnsw_config.m, old.config.metadata]).toEqual([24, undefined]);
      const { points } = await db.scroll('articles', { limit: 10 });
      expect(points.map(({ id, payload }) => [id, payload])).toEqual(
        expect.arrayContaining([
          [
            1,
            { s: 'x', i: 7, b: true, f: 1.5, 'q"': 'ü', list: ['a', 'b'], document: 'one', uri: 'file:///a' },
          ],
          [UUID, {}],
          ['018414e2-73b2-53ea-8557-9a77a0a0742b', { f: 2, document: 'three', chroma_id: 'doc ä/3' }],
          [pointId('07'), { chroma_id: '07' }],
          [pointId(UUID.toUpperCase()), { chroma_id: UUID.toUpperCase() }],
          [pointId('18446744073709551616'), { chroma_id: '18446744073709551616' }],
        ]),
      );
    } finally {
      await db.close();
    }
  });

  it('C21 with --string-ids every id stays the text that it is', async () => {
    const ids = ['1', '07', UUID, UUID.toUpperCase(), 'doc ä/3'];
    const records = ids.map((id, n) => ({ id, embedding: [n] }));
    const collections = { c: { info: chromaInfo('c', {}, { dimension: 1 }), records } };
    const { code, out } = await migrate(collections, '--string-ids', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out).collections[0]).toMatchObject({ stored: 5, compared: { different: [] } });
    const db = await open(join(folder, 'data'));
    try {
      const { points } = await db.scroll('c', { limit: 10 });
      expect(points.map(({ id, payload }) => [id, payload])).toEqual([...ids].sort().map((id) => [id, {}]));
      expect((await db.getCollection('c')).ids).toBe('string');
    } finally {
      await db.close();
    }
  });

  it('a key that the metadata have already, or a record without an embedding, is refused unless another key is named', async () => {
    const collections = {
      c: {
        info: chromaInfo('c', {}, { dimension: 1 }),
        records: [
          { id: '1', embedding: [1], document: 'text', metadata: { document: 'taken' } },
          { id: '2', embedding: null },
          { id: '3', embedding: [3] },
        ],
      },
    };
    const rejects = ['--rejects', join(folder, 'rejects.jsonl')];
    const first = await migrate(collections, ...rejects);
    expect([first.code, first.out]).toEqual([3, expect.stringMatching(/^c: 1 point stored, 2 rejected, /)]);
    expect(first.err).toContain(
      'c, point "1": its metadata have the key document already: name another one with --document-key',
    );
    expect(first.err).toContain('c, point "2": it has no embedding');
    await fake.stop();
    rmSync(join(folder, 'data'), { recursive: true });
    const second = await migrate(collections, ...rejects, '--document-key', 'text');
    expect(second.out).toMatch(/^c: 2 points stored, 1 rejected, /);
  });

  it('pages are read to the end, and a distance that there is not makes no collection', async () => {
    const records = Array.from({ length: 700 }, (_, n) => ({ id: `n${n}`, embedding: [n, 1] }));
    const many = Object.fromEntries(
      Array.from({ length: 130 }, (_, n) => [`c${n}`, { info: chromaInfo(`c${n}`, {}), records: [] }]),
    );
    const all = {
      ...many,
      big: { info: chromaInfo('big', {}, { dimension: 2 }), records },
      odd: { info: chromaInfo('odd', { space: 'hamming' }, { dimension: 2 }), records: [] },
      member: { info: chromaInfo('member', { space: 'constructor' }, { dimension: 2 }), records: [] },
    };
    const { out } = await migrate(all, '--collections', 'big,odd,c129,member');
    expect(out).toContain('KithDB has no distance like "constructor"\n');
    expect(out).toContain('big: 700 points stored, 100 compared, all the same\n');
    expect(out).toContain('odd: not migrated: It is not created: KithDB has no distance like "hamming"\n');
    expect(out).toContain('c129: not migrated');
  });

  it('an interrupted migration goes on only with the same keys and ids', async () => {
    const records = [{ id: 'a', embedding: [1, 1] }];
    fake = new FakeChroma({ docs: { info: chromaInfo('docs', {}, { dimension: 2 }), records } });
    const url = await fake.start();
    const [state, to] = [join(folder, 'state.json'), join(realpathSync(folder), 'data')];
    const from = `chroma/default_tenant/default_database ${url}`;
    writeFileSync(state, JSON.stringify({ from, to, done: [] }));
    const resume = (...flags: string[]): Promise<Outcome> =>
      runCommand(
        ['migrate', 'chroma', '--from', url, '--data-dir', to, '--state', state, '--resume', ...flags],
        {},
      );
    for (const flags of [['--string-ids'], ['--id-key', 'key']]) {
      const { code, err } = await resume(...flags);
      expect([code, err]).toEqual([1, expect.stringContaining(`is of a migration from ${from} to`)]);
    }
    expect((await resume()).code).toBe(0);
  });

  it('a server that has no second version of the API is an error with a sentence', async () => {
    fake = new FakeChroma({});
    const url = `${await fake.start()}/elsewhere`;
    const { code, err } = await runCommand(['migrate', 'chroma', '--from', url, '--dry-run']);
    expect([code, err]).toEqual([1, expect.stringContaining('does not speak the API v2 of Chroma')]);
  });
});
