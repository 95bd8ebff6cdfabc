import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from '../../src/index';
import { runCommand, type Outcome } from '../cli/run-command';
import { ContractServer, type Json } from '../contract/contract-server';
import { FakeQdrant, type FakeCollection } from './fake-qdrant';

/** `kithdb migrate qdrant` (C11.4): from KithDB, which speaks the dialect, and from a fake that answers as Qdrant 1.19. */
describe('kithdb migrate qdrant', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kithdb-migrate-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const dataDir = (): string => join(folder, 'data');

  async function migrate(from: string, ...flags: string[]): Promise<Outcome> {
    const argv = ['migrate', 'qdrant', '--from', from, '--state', join(folder, 'state.json'), ...flags];
    const to = flags.includes('--url') ? [] : ['--data-dir', dataDir()];
    return runCommand([...argv, ...to], { KITHDB_SOURCE_TOKEN: 'secret' });
  }

  describe('from KithDB', () => {
    let server: ContractServer;
    beforeAll(async () => {
      server = await ContractServer.start();
      await server.call('PUT', '/collections/mixed', {
        vectors: {
          title: { size: 2, distance: 'Cosine', on_disk: true },
          'a.b': { size: 3, distance: 'Manhattan', datatype: 'float16' },
          rows: { size: 2, distance: 'Dot', multivector_config: { comparator: 'max_sim' } },
          bytes: { size: 2, distance: 'Euclid', datatype: 'uint8' },
        },
        sparse_vectors: { words: { modifier: 'idf' } },
        hnsw_config: { m: 8, ef_construct: 64, payload_m: 4 },
        quantization_config: { scalar: { type: 'int8', always_ram: true } },
        metadata: { owner: 'a', nothing: null },
      });
      await server.call('PUT', '/collections/mixed/index', { field_name: 'n', field_schema: 'integer' });
      await server.call('PUT', '/collections/mixed/index', {
        field_name: 'text',
        field_schema: { type: 'text', tokenizer: 'prefix', min_token_len: 2 },
      });
      const vector = {
        title: [3, 4],
        'a.b': [0.1, 0.2, 0.3],
        rows: [
          [1, 2],
          [3, 4],
        ],
        bytes: [0, 255],
        words: { indices: [4_294_967_295, 7], values: [0.5, -1] },
      };
      const points = [
        { id: 0, vector, payload: { n: 1, deep: { a: [1.5, null, 'ä"\\'] }, zero: 0.0 } },
        { id: 7, vector: { title: [1, 0] }, payload: {} },
        { id: '8f1f1a9c-1c5d-4a53-9f0e-0b6c9f0e1a2b', vector: {}, payload: { text: 'x' } },
      ];
      await server.call('PUT', '/collections/mixed/points', { points });
      // Numbers that JSON.stringify cannot write.
      await server.raw(
        'PUT',
        '/collections/mixed/points',
        '{"points":[{"id":18446744073709551615,"vector":{},"payload":{"big":9007199254740993}}]}',
      );
      await server.call('PUT', '/collections/plain', { vectors: { size: 2, distance: 'Dot' } });
      const many = Array.from({ length: 1500 }, (_, id) => ({ id, vector: [id, 0.1], payload: { id } }));
      await server.call('PUT', '/collections/plain/points', { points: many });
    });
    afterAll(() => server.stop());

    const from = (): string => `http://127.0.0.1:${server.port}`;

    it('C11.4 collections of every kind of vector arrive with configuration, indexes and all points', async () => {
      const { code, out, err } = await migrate(from(), '--json');
      expect([code, err]).toEqual([0, '']);
      const { source, collections } = JSON.parse(out);
      expect(source).toMatch(/^KithDB \d/);
      expect(collections).toEqual([
        expect.objectContaining({
          name: 'mixed',
          points: 4,
          stored: 4,
          rejected: 0,
          indexes: 2,
          remarks: ['hnsw_config.payload_m has no effect in this release'],
          compared: { source: 4, target: 4, sampled: 4, different: [] },
        }),
        expect.objectContaining({
          name: 'plain',
          stored: 1500,
          compared: { source: 1500, target: 1500, sampled: 100, different: [] },
        }),
      ]);
      expect(existsSync(join(folder, 'state.json'))).toBe(false);
      const db = await open(dataDir());
      try {
        for (const name of ['mixed', 'plain']) {
          const there = (await server.call('GET', `/collections/${name}`)).body;
          const here = (await db.getCollection(name)) as Json;
          expect(here.config).toEqual(there.result.config);
          expect(here.payload_schema).toEqual(there.result.payload_schema);
          const page = { limit: 2000, with_vector: true };
          const scrolled = (await server.call('POST', `/collections/${name}/points/scroll`, page)).body;
          expect(JSON.parse(JSON.stringify(await db.scroll(name, page), bigAsNumber))).toEqual(
            scrolled.result,
          );
        }
      } finally {
        await db.close();
      }
    });

    it('C17, C19, C21, C23 string ids, expiry, models and the choice of field indexes arrive too', async () => {
      const created = await server.call('PUT', '/collections/own', {
        vectors: { title: { size: 2, distance: 'Dot', model: { name: 'small', text_key: 'text' } } },
        sparse_vectors: { words: { model: { name: 'qdrant/bm25', required: true } } },
        ids: 'string',
        expire_at_key: 'until',
        field_indexes: 'manual',
        residency: 'hot',
      });
      expect(created.status).toBe(200);
      const points = ['doc-1', '7', 7, 'ä/b'].map((id) => ({
        id,
        vector: { title: [1, 2] },
        payload: { id },
      }));
      await server.call('PUT', '/collections/own/points', { points });
      try {
        const { code, out, err } = await migrate(from(), '--collections', 'own', '--json');
        expect([code, err]).toEqual([0, '']);
        expect(JSON.parse(out).collections).toEqual([
          expect.objectContaining({
            stored: 4,
            remarks: [],
            compared: { source: 4, target: 4, sampled: 4, different: [] },
          }),
        ]);
        const there = (await server.call('GET', '/collections/own')).body.result;
        const db = await open(dataDir());
        try {
          const here = (await db.getCollection('own')) as Json;
          for (const field of ['config', 'ids', 'expire_at_key', 'field_indexes', 'vector_models'])
            expect([field, here[field]]).toEqual([field, there[field]]);
          expect(here.residency).toMatchObject({ setting: 'hot' });
          expect(there).toMatchObject({
            ids: 'string',
            expire_at_key: 'until',
            field_indexes: 'manual',
            residency: { setting: 'hot' },
            vector_models: {
              title: { name: 'small', text_key: 'text' },
              words: { name: 'qdrant/bm25', required: true },
            },
          });
          const page = { limit: 10, with_vector: true };
          const scrolled = (await server.call('POST', '/collections/own/points/scroll', page)).body.result;
          expect(await db.scroll('own', page)).toEqual(scrolled);
        } finally {
          await db.close();
        }
      } finally {
        await server.call('DELETE', '/collections/own');
      }
    });

    it('a dry run names what would be, and stores nothing', async () => {
      const { code, out } = await migrate(from(), '--dry-run');
      expect(code).toBe(0);
      expect(out).toContain(
        'mixed: 4 points to copy, 2 payload indexes\n  hnsw_config.payload_m has no effect',
      );
      expect(out).toContain('plain: 1500 points to copy\n');
      expect(readdirSync(folder)).toEqual([]);
    });

    it('into a server, only the collections that are named, and never over one that exists', async () => {
      const target = await ContractServer.start();
      try {
        const to = ['--url', `http://127.0.0.1:${target.port}`];
        const first = await migrate(from(), ...to, '--collections', 'mixed');
        expect([first.code, first.err]).toEqual([0, '']);
        const again = await migrate(from(), ...to);
        expect([again.code, again.err]).toEqual([
          1,
          expect.stringContaining('There are collections of the same name already: mixed. Delete them'),
        ]);
        const none = await migrate(from(), ...to, '--collections', 'plain,none');
        expect([none.code, none.err]).toEqual([
          1,
          'kithdb: There is no collection none on the server of --from\n',
        ]);
        const list = (await target.call('GET', '/collections')).body;
        expect(list.result.collections).toEqual([{ name: 'mixed' }]);
      } finally {
        await target.stop();
      }
    });
  });

  describe('from a fake of Qdrant 1.19', () => {
    let fake: FakeQdrant;
    afterEach(() => fake.stop());

    async function from(collections: Record<string, FakeCollection>): Promise<string> {
      fake = new FakeQdrant(collections);
      return fake.start();
    }

    const HNSW = {
      m: 16,
      ef_construct: 100,
      full_scan_threshold: 10000,
      max_indexing_threads: 0,
      on_disk: false,
    };
    const OPTIMIZERS = {
      deleted_threshold: 0.2,
      vacuum_min_vector_number: 1000,
      default_segment_number: 0,
      max_segment_size: null,
      memmap_threshold: null,
      indexing_threshold: 10000,
      flush_interval_sec: 5,
      max_optimization_threads: null,
    };
    const WAL = { wal_capacity_mb: 32, wal_segments_ahead: 0, wal_retain_closed: 1 };

    function info(params: object, config: object = {}, schema: object = {}): object {
      return {
        status: 'green',
        optimizer_status: 'ok',
        indexed_vectors_count: 0,
        points_count: 1,
        segments_count: 2,
        config: {
          params: {
            shard_number: 1,
            replication_factor: 1,
            write_consistency_factor: 1,
            on_disk_payload: true,
            ...params,
          },
          hnsw_config: HNSW,
          optimizer_config: OPTIMIZERS,
          wal_config: WAL,
          quantization_config: null,
          strict_mode_config: { enabled: false },
          ...config,
        },
        payload_schema: schema,
        update_queue: { length: 0 },
      };
    }

    const point = (id: number): FakeCollection['points'][number] => ({
      id,
      payload: { id },
      vector: [id, 1],
    });

    it('what KithDB has no setting for is left out and named, and the rest arrives', async () => {
      const url = await from({
        cluster: {
          info: info(
            {
              vectors: {
                'a.b': {
                  size: 2,
                  distance: 'Cosine',
                  memory: 'cold',
                  datatype: 'turbo4',
                  hnsw_config: { m: 8, memory: 'pinned' },
                  quantization_config: { turbo: { bits: 'bits2', always_ram: true } },
                },
                rows: { size: 2, distance: 'Dot', multivector_config: { comparator: 'max_sim' } },
              },
              sparse_vectors: { words: { index: { on_disk: false, memory: 'hot' }, modifier: 'idf' } },
              shard_number: 6,
              sharding_method: 'custom',
              replication_factor: 2,
              payload: { memory: 'cold' },
            },
            { quantization_config: { product: { compression: 'x16' } }, metadata: { team: 'a' } },
            {
              n: {
                data_type: 'integer',
                params: { type: 'integer', lookup: true, range: false, memory: 'hot' },
                points: 1,
              },
              t: { data_type: 'keyword', points: 1 },
              odd: { data_type: 'tensor', points: 0 },
            },
          ),
          points: [
            {
              id: 1,
              payload: { n: 1 },
              vector: { 'a.b': [0.6, 0.8], rows: [[1, 2]], words: { indices: [3], values: [1] } },
              shard_key: 'eu',
            },
            { id: '8f1f1a9c-1c5d-4a53-9f0e-0b6c9f0e1a2b', payload: null, vector: {}, shard_key: 7 },
          ],
        },
      });
      fake.aliases = [{ alias_name: 'live', collection_name: 'cluster' }];
      const { code, out, err } = await migrate(url, '--json');
      expect([code, err]).toEqual([0, '']);
      const { source, collections, aliases, leftBehind } = JSON.parse(out);
      expect(source).toBe('Qdrant 1.19.1');
      expect([aliases, leftBehind]).toEqual([{ source: 1, target: 1 }, []]);
      expect(fake.keys).toEqual(new Set(['secret']));
      const [outcome] = collections;
      expect(outcome).toMatchObject({
        stored: 2,
        indexes: 2,
        compared: { source: 2, target: 2, sampled: 2, different: [] },
      });
      const places = (outcome.remarks as string[]).map(
        (remark) => /^(?:The \S+ \S+|Index of \S+ \S+|\S+)/.exec(remark)?.[0],
      );
      expect(places.sort()).toEqual([
        'Index of n: field_schema.memory',
        'The index of',
        'The shard keys',
        'replication_factor',
        'shard_number',
        'sharding_method',
        'sparse_vectors.words.index.memory',
        'vectors.a.b.datatype:',
      ]);
      const db = await open(dataDir());
      try {
        const { config, payload_schema: schema } = (await db.getCollection('cluster')) as Json;
        expect(config.params.vectors['a.b']).toEqual({
          size: 2,
          distance: 'Cosine',
          datatype: 'turbo4',
          memory: 'cold',
          hnsw_config: { m: 8, memory: 'pinned' },
          quantization_config: { turbo: { bits: 'bits2', always_ram: true } },
        });
        expect(config.params.shard_number).toBe(1);
        expect(config.quantization_config).toEqual({ product: { compression: 'x16' } });
        expect(config.metadata).toEqual({ team: 'a' });
        expect(Object.keys(schema)).toEqual(['n', 't']);
        const { points } = await db.scroll('cluster', { with_vector: true });
        expect(points.map(({ id, payload }) => [id, payload])).toEqual([
          [1, { n: 1 }],
          ['8f1f1a9c-1c5d-4a53-9f0e-0b6c9f0e1a2b', {}],
        ]);
      } finally {
        await db.close();
      }
    });

    it('a collection that would be another one is not made; the others are', async () => {
      const url = await from({
        good: { info: info({ vectors: { size: 2, distance: 'Dot' } }), points: [point(1)] },
        odd: {
          info: info({
            vectors: { size: 2, distance: 'Dot', multivector_config: { comparator: 'min_sim' } },
          }),
          points: [point(1)],
        },
      });
      const { code, out } = await migrate(url);
      expect(code).toBe(3);
      expect(out).toContain('good: 1 point stored, 1 compared, all the same\n');
      expect(out).toMatch(/^odd: not migrated: vectors\.multivector_config\.comparator: /m);
      expect(await migrate(url, '--dry-run', '--collections', 'odd')).toMatchObject({ code: 3 });
    });

    it('C11.4, C12 aliases come along and are counted; one that cannot be made is named', async () => {
      const plain = info({ vectors: { size: 2, distance: 'Dot' } });
      const odd = info({ vectors: { size: 2, distance: 'Dot', multivector_config: { comparator: 'min' } } });
      const url = await from({
        good: { info: plain, points: [point(1)] },
        odd: { info: odd, points: [] },
        other: { info: plain, points: [point(2)] },
      });
      fake.aliases = ['live', 'mine', 'taken'].map((alias) => ({
        alias_name: alias,
        collection_name: 'good',
      }));
      fake.aliases.push({ alias_name: 'gone', collection_name: 'odd' });
      fake.aliases.push({ alias_name: 'elsewhere', collection_name: 'other' });
      const db = await open(dataDir());
      try {
        await db.createCollection('taken', { vectors: { size: 2, distance: 'Dot' } });
        const action = { alias_name: 'mine', collection_name: 'taken' };
        await db.updateCollectionAliases({ actions: [{ create_alias: action }] });
        const chosen = ['--collections', 'good,odd'];
        const rehearsed = await migrate(url, '--dry-run', ...chosen);
        expect(rehearsed.out).toContain('3 aliases to make, the source has 4\n');
        const { code, out } = await migrate(url, '--json', ...chosen);
        const { aliases, leftBehind } = JSON.parse(out);
        expect([code, aliases]).toEqual([3, { source: 4, target: 1 }]);
        expect(leftBehind).toEqual([
          'The alias mine of good is not migrated: the name is an alias of taken already',
          expect.stringContaining('The alias taken of good is not migrated: '),
          'The alias gone of odd is not migrated: the collection is not',
        ]);
        const { aliases: made } = await db.getAliases();
        expect(made.map(({ alias_name: alias }) => alias).sort()).toEqual(['live', 'mine']);
        expect(await db.count('live')).toEqual({ count: 1 });
      } finally {
        await db.close();
      }
    });

    it.each(['specification', 'qdrant'])(
      'C11.4, C12 aliases go to a server of the dialect %s',
      async (dialect) => {
        const url = await from({
          good: { info: info({ vectors: { size: 2, distance: 'Dot' } }), points: [point(1)] },
        });
        fake.aliases = [{ alias_name: 'live', collection_name: 'good' }];
        const target = await ContractServer.start(['--dialect', dialect]);
        try {
          const { code, out } = await migrate(url, '--url', `http://127.0.0.1:${target.port}`);
          expect(code).toBe(dialect === 'qdrant' ? 0 : 3);
          expect(out).toContain(
            dialect === 'qdrant'
              ? '1 alias made\n'
              : '0 aliases made, the source has 1\nThe alias live of good is not migrated\n',
          );
        } finally {
          await target.stop();
        }
      },
    );

    it('collections and vectors may be called as a member of every object is, and a name may have commas', async () => {
      const plain = { info: info({ vectors: { size: 2, distance: 'Dot' } }), points: [point(1)] };
      const vectors = '{"constructor":{"size":2,"distance":"Dot"},"__proto__":{"size":1,"distance":"Dot"}}';
      const named = {
        info: info({ vectors: JSON.parse(vectors) as object, sparse_vectors: { toString: {} } }),
        points: [{ id: 1, payload: {}, vector: { constructor: [1, 2] } }],
      };
      const url = await from({ 'a,b': plain, 'b,c,d': plain, c: plain, constructor: named });
      const { code, out, err } = await migrate(url, '--collections', 'a,b, constructor,b,c,d');
      expect([code, err]).toEqual([0, '']);
      expect(out).toContain('a,b: 1 point stored, 1 compared, all the same\n');
      expect(out).toContain('constructor: 1 point stored, 1 compared, all the same\n');
      expect(out).toContain('b,c,d: 1 point stored');
      expect(out).toContain('3 collections of Qdrant');
      const db = await open(dataDir());
      const made = (await db.getCollection('constructor')) as Json;
      await db.close();
      expect(Object.keys(made.config.params.vectors as object).sort()).toEqual(['__proto__', 'constructor']);
      const none = await migrate(url, '--collections', 'a,c', '--state', join(folder, 'other.json'));
      expect(none.err).toBe('kithdb: There is no collection a on the server of --from\n');
    });

    it('an interrupted migration goes on with the page at which it was, and compares all', async () => {
      const points = Array.from({ length: 2500 }, (_, id) => point(id));
      points[2100] = { id: 2100, payload: {}, vector: [1, 2, 3] };
      const plain = info({ vectors: { size: 2, distance: 'Dot' } });
      const url = await from({ done: { info: plain, points: [point(1)] }, long: { info: plain, points } });
      const { code, err } = await migrate(url, '--parallel', '1');
      expect([code, err]).toEqual([
        1,
        expect.stringMatching(
          /the same command with --resume goes on\nkithdb: long, point 2100: .*--rejects FILE/s,
        ),
      ]);
      const rejects = join(folder, 'rejects.jsonl');
      const earlier = '{"place":"long, point 7","reason":"of the migration that was interrupted"}\n';
      writeFileSync(rejects, `${earlier}{"place":"long, po`);
      // A migration that does not begin leaves the rejected points of the interrupted one.
      const fresh = await migrate(url, '--rejects', rejects);
      expect(fresh.err).toContain('already: done, long');
      expect(fresh.err).toContain('--resume');
      const state = JSON.parse(readFileSync(join(folder, 'state.json'), 'utf8'));
      expect(state.begun).toMatchObject({ name: 'long', isCreated: true });
      fake.requests.length = 0;
      const rest = await migrate(url, '--resume', '--rejects', rejects, '--json');
      expect(rest.code).toBe(3);
      const { collections } = JSON.parse(rest.out);
      expect(collections).toMatchObject([
        { name: 'done', stored: 1 },
        {
          name: 'long',
          points: 2500,
          stored: 2499,
          rejected: 1,
          compared: { source: 2500, target: 2499 },
        },
      ]);
      expect(collections[1].compared.different.filter((id: string) => id !== '2100')).toEqual([]);
      const [kept, added, ...more] = readFileSync(rejects, 'utf8').split('\n');
      expect([`${kept}\n`, more]).toEqual([earlier, ['']]);
      expect(JSON.parse(added ?? '')).toMatchObject({ place: 'long, point 2100' });
      const first = fake.requests.find((request) => request.includes('long/points/scroll'));
      expect(Number(/"offset":(\d+)/.exec(first ?? '')?.[1])).toBeGreaterThan(0);
      expect(fake.requests.some((request) => request.includes('done/points/scroll'))).toBe(false);
      const other = await migrate(url.replace('127.0.0.1', 'localhost'), '--resume');
      expect(other.code).toBe(1);
    });

    it('a server that is none, and one that is not there, are errors with a sentence', async () => {
      const url = await from({});
      expect(await migrate(`${url}/collections`)).toMatchObject({
        code: 1,
        err: 'kithdb: The server of --from does not speak the REST API of Qdrant\n',
      });
      expect(await migrate('ftp://x')).toMatchObject({ code: 2 });
      expect((await migrate(url)).out).toBe(
        '0 collections of Qdrant 1.19.1. Tokens and users are not migrated.\n',
      );
    });
  });
});

function bigAsNumber(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}
