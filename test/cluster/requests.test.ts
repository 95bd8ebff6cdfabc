import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openNativeEngine } from '../../src/engine';
import {
  bytesOf,
  type Engine,
  type EngineRequest,
  type TextInput,
  type TextModels,
} from '../../src/engine/types';
import { describeUnless } from '../missing';
import { eventually, until } from '../until';
import { isNoNats } from './nats-server';
import { TestCluster, type TestNode } from './nodes';

const CONFIG = { vectors: { size: 2, distance: 'Dot' }, shard_number: 3, replication_factor: 2 };
const BY_N = { must: { key: 'n', match: { value: 1 } } };

/** Makes the vector `[length of the text, 1]`, and notes what it is asked. */
class CountingModels implements TextModels {
  readonly asked: string[] = [];

  vectors(inputs: readonly TextInput[]): Promise<readonly Buffer[]> {
    this.asked.push(...inputs.map(({ text }) => text));
    const vectors = inputs.map(({ text }) => Buffer.from(new Float32Array([text.length, 1]).buffer));
    return Promise.resolve(vectors);
  }
}

/** An engine that is no part of a cluster. */
class Alone {
  private constructor(
    private readonly engine: Engine,
    private readonly folder: string,
  ) {}

  static async open(): Promise<Alone> {
    const folder = mkdtempSync(join(tmpdir(), 'kithdb-alone-'));
    const engine = openNativeEngine({ dataDir: folder, searchThreads: 1 });
    await engine.open();
    return new Alone(engine, folder);
  }

  async ask(operation: EngineRequest['operation'], collection: string, json: object): Promise<unknown> {
    const bytes = Buffer.from(JSON.stringify(json));
    const body = this.engine.receive();
    body.append(bytes, bytes.length);
    const answer = await this.engine.execute({ operation, collection, body });
    return (JSON.parse(bytesOf(answer).toString()) as { readonly result: unknown }).result;
  }

  async close(): Promise<void> {
    await this.engine.close(0);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function points(from: number, count: number, payload: object = {}): readonly object[] {
  return Array.from({ length: count }, (_, at) => ({ id: from + at, vector: [from + at, 1], payload }));
}

/** A result without the numbers of operations, which differ. */
function shown(result: unknown): unknown {
  return JSON.parse(
    JSON.stringify(result, (key, value: unknown) => (key === 'operation_id' ? undefined : value)),
  );
}

describeUnless(isNoNats)('requests over several shards', () => {
  const models = new CountingModels();
  let cluster: TestCluster;
  let first: TestNode;
  let second: TestNode;
  let alone: Alone;

  beforeAll(async () => {
    cluster = await TestCluster.start(0, 1);
    first = await cluster.add({ models });
    second = await cluster.add();
    alone = await Alone.open();
  });
  afterAll(async () => {
    await alone.close();
    await cluster.end();
  });

  async function create(name: string, more: object = {}): Promise<void> {
    await first.ask('create_collection', name, { ...CONFIG, ...more });
    await until(async () => {
      const answer = await second.ask('collection_exists', name);
      return (answer as { readonly exists: boolean }).exists;
    });
  }

  it('C30.3 answer an update, and each operation of a batch, as one node does', async () => {
    await create('batches');
    const { vectors } = CONFIG;
    await alone.ask('create_collection', 'batches', { vectors });
    const upsert = { points: points(0, 30, { n: 1 }) };
    const skipping = { points: points(20, 20, { n: 2 }), update_mode: 'insert_only' };
    const operations = [
      { upsert: skipping },
      { set_payload: { payload: { a: 1 }, points: [3] } },
      { delete: { filter: { must: { has_id: [5, 6] } } } },
      { upsert: { points: points(7, 20, { n: 3 }), update_filter: BY_N } },
    ];
    for (const [operation, body] of [
      ['upsert_points', upsert],
      ['upsert_points', skipping],
      ['batch_update', { operations }],
      ['batch_update', { operations: [{ delete: { points: [] } }] }],
    ] as const) {
      const expected = await alone.ask(operation, 'batches', body);
      expect(shown(await second.ask(operation, 'batches', body))).toEqual(shown(expected));
    }
    const everything = { limit: 100, with_payload: true, with_vector: true };
    const page = await alone.ask('scroll', 'batches', everything);
    await eventually(() => first.ask('scroll', 'batches', everything), page);
  });

  it('have one operation number in all results of a batch, and repeat them', async () => {
    const operationId = '21111111-2222-4333-8444-555555555555';
    const batch = { operations: [{ upsert: { points: points(100, 9) } }, { delete: { points: [100] } }] };
    const answer = await first.ask('batch_update', 'batches', batch, { operationId });
    const [{ operation_id: number }] = answer as [{ readonly operation_id: number }];
    const result = { operation_id: number, status: 'completed' };
    expect(answer).toEqual([result, result]);
    expect(await first.ask('batch_update', 'batches', batch, { operationId })).toEqual(answer);
    // What it asked of its points does not hold any more.
    const absent = points(110, 9).map((point) => ({ ...point, if_version: 0 }));
    const again = '31111111-2222-4333-8444-555555555555';
    const once = await first.ask('upsert_points', 'batches', { points: absent }, { operationId: again });
    expect(once).toMatchObject({ status: 'completed' });
    expect(await second.ask('upsert_points', 'batches', { points: absent }, { operationId: again })).toEqual(
      once,
    );
    await expect(second.ask('upsert_points', 'batches', { points: absent })).rejects.toMatchObject({
      code: 'version_conflict',
      details: { total: 9 },
    });
  });

  it('name all points of all shards, and the operation, where nothing is done', async () => {
    const operations = [
      { upsert: { points: points(200, 5) } },
      { set_payload: { payload: { a: 1 }, points: [900, 901, 902, 903, 904, 905] } },
    ];
    const expected = await alone
      .ask('batch_update', 'batches', { operations })
      .catch((error: unknown) => error);
    const refused = await first
      .ask('batch_update', 'batches', { operations })
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'point_not_found', details: { total: 6 } });
    const { details } = refused as { readonly details: { readonly ids: readonly string[] } };
    const { details: whole } = expected as { readonly details: { readonly ids: readonly string[] } };
    expect({ ...details, ids: [...details.ids].sort() }).toEqual({ ...whole, ids: [...whole.ids].sort() });
    expect(await first.ask('count', 'batches', { filter: { must: { has_id: [200, 201] } } })).toEqual({
      count: 0,
    });
  });

  it('take a point in each line', async () => {
    const lines = points(300, 20)
      .map((point) => JSON.stringify(point))
      .join('\n');
    const body = second.engine.receive();
    body.append(Buffer.from(lines), lines.length);
    let readAfter = '';
    const written = (position: string): void => {
      readAfter = position;
    };
    const request = {
      operation: 'upsert_points',
      collection: 'batches',
      isLines: true,
      body,
      written,
    } as const;
    await second.engine.execute(request);
    const ids = { must: { has_id: points(300, 20).map((point) => (point as { readonly id: number }).id) } };
    expect(await first.ask('count', 'batches', { filter: ids }, { readAfter })).toEqual({ count: 20 });
  });

  it('C30.11 keep to the strict mode of their collection as a whole, and widen questions beyond it', async () => {
    await create('strict', { strict_mode_config: { enabled: true, max_query_limit: 10 } });
    await first.ask('upsert_points', 'strict', { points: points(0, 40) });
    const fused = {
      prefetch: [
        { query: [1, 0], limit: 10 },
        { query: [0, 1], limit: 10 },
      ],
      query: { fusion: 'rrf' },
      limit: 10,
      offset: 5,
    };
    for (const node of [first, second]) {
      await until(async () => {
        const { points: hits } = (await node.ask('query', 'strict', fused)) as { readonly points: unknown[] };
        return hits.length === 10;
      });
      await expect(node.ask('query', 'strict', { ...fused, limit: 11 })).rejects.toMatchObject({
        code: 'bad_request',
        message: expect.stringContaining('limit: 11 exceeds max_query_limit: 10'),
      });
    }
  });

  it('find a strict mode that a collection got later, its sizes in all shards, and its rates', async () => {
    const mode = { enabled: true, upsert_max_batchsize: 5, max_points_count: 42, read_rate_limit: 1 };
    await second.ask('update_collection', 'strict', {
      strict_mode_config: { ...mode, max_query_limit: null },
    });
    const upsert = (from: number, count: number): Promise<unknown> =>
      first.ask('upsert_points', 'strict', { points: points(from, count) });
    // Each shard has a part that is small enough.
    await expect(upsert(0, 6)).rejects.toMatchObject({
      message: expect.stringContaining('upsert_max_batchsize: 5'),
    });
    expect(await upsert(40, 1)).toMatchObject({ status: 'completed' });
    expect(await upsert(41, 1)).toMatchObject({ status: 'completed' });
    await expect(upsert(42, 1)).rejects.toMatchObject({
      message: expect.stringContaining('max_points_count: 42'),
    });
    expect(await upsert(0, 5)).toMatchObject({ status: 'completed' });
    expect(await second.ask('count', 'strict', {})).toEqual({ count: 42 });
    await expect(second.ask('count', 'strict', {})).rejects.toMatchObject({ code: 'rate_limited' });
  });

  it('C30.11 hide points whose time has come, which every replica removes by the same record', async () => {
    await create('ending', { expire_at_key: 'until' });
    const now = Math.floor(Date.now() / 1000);
    const others = [...points(50, 5, { until: now + 9_999 }), ...points(60, 5, { until: 7.5 })];
    await first.ask('upsert_points', 'ending', { points: [...points(0, 20, { until: now - 5 }), ...others] });
    expect(await first.ask('count', 'ending', {})).toEqual({ count: 10 });
    for (const node of [first, second]) {
      await until(async () => {
        await node.engine.refresh(0);
        return node.engine.status().internals?.expiredPoints === 20;
      }, 100);
      expect(await node.ask('count', 'ending', {})).toEqual({ count: 10 });
    }
  });

  it('C30.11 have the vectors of their texts made once, by the node that is asked', async () => {
    await create('texts');
    const text = (words: string): object => ({ text: words, model: 'lengths' });
    const texts = ['a', 'bbb', 'ccccc', 'ddddddd'];
    const upsert = { points: texts.map((words, id) => ({ id, vector: text(words) })) };
    let readAfter = '';
    const written = (position: string): void => {
      readAfter = position;
    };
    await first.ask('upsert_points', 'texts', upsert, { written });
    expect(models.asked).toEqual(texts);
    const query = { query: text('ee'), limit: 2, with_vector: true };
    const found = { points: [{ id: 3, score: 15, vector: [7, 1] }, { id: 2 }] };
    expect(await first.ask('query', 'texts', query, { readAfter })).toMatchObject(found);
    expect(models.asked).toEqual([...texts, 'ee']);
    // The other node has no models; its replicas have the vectors.
    await expect(second.ask('query', 'texts', query)).rejects.toMatchObject({ code: 'bad_request' });
    const plain = { query: [2, 1], limit: 2, with_vector: true };
    expect(await second.ask('query', 'texts', plain, { readAfter })).toMatchObject(found);
    const one = { must: { has_id: [3] } };
    expect(await second.ask('count', 'texts', { filter: one }, { readAfter })).toEqual({ count: 1 });
  });

  it('C30.4 pass over the positions of other collections, whose streams may be the same', async () => {
    // There are two streams.
    const names = ['left', 'middle', 'right'];
    const positions: string[] = [];
    const written = (position: string): void => {
      positions.push(position);
    };
    for (const name of names) {
      await create(name, { shard_number: 1 });
      await first.ask('upsert_points', name, { points: points(1, 2) }, { written });
    }
    const after = { readAfter: positions.join(', '), timeoutSeconds: 5 };
    for (const name of names) {
      for (const node of [first, second]) {
        expect(await node.ask('count', name, { exact: true }, after)).toEqual({ count: 2 });
        // What is looked up elsewhere is read behind the writes there.
        const looked = { query: 1, lookup_from: { collection: 'left' }, limit: 1 };
        expect(await node.ask('query', name, looked, after)).toMatchObject({ points: [{}] });
      }
    }
  });

  it('have them made for a collection of one shard, and look examples up by the names that users know', async () => {
    await create('single', { shard_number: 1 });
    const before = models.asked.length;
    let readAfter = '';
    const written = (position: string): void => {
      readAfter = position;
    };
    const vector = { text: 'four', model: 'lengths' };
    // The name of a key has more than one spelling.
    const json = JSON.stringify({ points: [{ id: 1, vector }] }).replace('"model"', '"\\u006dodel"');
    const body = first.engine.receive();
    body.append(Buffer.from(json), json.length);
    await first.engine.execute({ operation: 'upsert_points', collection: 'single', body, written });
    expect(models.asked.slice(before)).toEqual(['four']);
    const looked = { query: 3, lookup_from: { collection: 'texts' }, limit: 1 };
    expect(await first.ask('query', 'single', looked, { readAfter })).toMatchObject({
      points: [{ id: 1, score: 29 }],
    });
    await expect(first.ask('scroll', 'single', { cursor: { ttl: 5 } })).rejects.toMatchObject({
      code: 'bad_request',
    });
    // By another name it is the same collection, whose example is no hit.
    const actions = [{ create_alias: { alias_name: 'other-name', collection_name: 'texts' } }];
    await first.ask('change_aliases', '', { actions });
    for (const [path, named] of [
      ['texts', 'other-name'],
      ['other-name', 'texts'],
    ] as const) {
      const own = { query: 3, lookup_from: { collection: named }, limit: 100 };
      const { points } = (await first.ask('query', path, own)) as { points: { id: number }[] };
      expect(points.length).toBeGreaterThan(0);
      expect(points.map(({ id }) => id)).not.toContain(3);
    }
    // One that the caller may not read is refused, whether it exists or not (C15).
    const limits = JSON.stringify({ collections: [{ name: 'single', permission: 'read' }] });
    for (const collection of ['texts', 'nowhere']) {
      const foreign = { query: 3, lookup_from: { collection } };
      const refused = first.ask('query', 'single', foreign, { limits });
      await expect(refused).rejects.toMatchObject({ code: 'collection_forbidden' });
    }
  });

  it('have keys of a read of one shard found, however they are spelled', async () => {
    await create('spelled', { shard_number: 1 });
    const ask = async (operation: 'query' | 'scroll', json: string, readAfter?: string): Promise<string> => {
      const body = first.engine.receive();
      body.append(Buffer.from(json), json.length);
      const request = {
        operation,
        collection: 'spelled',
        body,
        ...(readAfter !== undefined && { readAfter }),
      };
      return bytesOf(await first.engine.execute(request)).toString();
    };
    const points = { points: [{ id: 1, vector: [1, 1] }] };
    let readAfter: string | undefined;
    const written = (position: string): void => {
      readAfter = position;
    };
    await first.ask('upsert_points', 'spelled', points, { written });
    const looked = '{"query":3,"\\u006cookup_from":{"collection":"texts"},"limit":1}';
    expect(await ask('query', looked, readAfter)).toContain('"id":1');
    const text = '{"query":{"text":"four","\\u006dodel":"lengths"},"limit":1}';
    expect(await ask('query', text, readAfter)).toContain('"id":1');
    await expect(ask('scroll', '{"\\u0063ursor":{"ttl":5}}')).rejects.toMatchObject({ code: 'bad_request' });
  });
});
