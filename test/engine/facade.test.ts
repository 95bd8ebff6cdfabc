import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  EngineError,
  OPERATIONS,
  openNativeEngine,
  type Engine,
  type EngineRequest,
  type IncomingBody,
} from '../../src/engine';
import { loadBinding } from './testing-addon';

jest.mock('../../src/engine/load', () => jest.requireActual<object>('./testing-addon'));

/** The native engine behind its facade: bytes in, bytes out, stable error codes, panics contained. */
describe('the engine facade', () => {
  let dataDir: string;
  let engine: Engine;

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'kith-facade-'));
    loadBinding().setTestSwitches({ panicsOnRequest: true });
    engine = openNativeEngine({ dataDir, limits: { maxPointsPerRequest: 3 } });
    await engine.open();
  });

  afterEach(async () => {
    await engine.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  async function ask(request: Omit<EngineRequest, 'body'> & { body?: unknown }): Promise<unknown> {
    const { body, ...rest } = request;
    const incoming = body === undefined ? {} : { body: receive(JSON.stringify(body)) };
    const answer = await engine.execute({ ...rest, ...incoming });
    const envelope = typeof answer === 'string' ? Buffer.from(answer, 'latin1') : answer;
    return (JSON.parse(envelope.toString()) as { result: unknown }).result;
  }

  /** A body in pieces, as the HTTP layer hands it over. */
  function receive(text: string, pieceBytes = 65_536): IncomingBody {
    const bytes = Buffer.from(text);
    const body = engine.receive();
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      body.append(bytes.subarray(at, at + pieceBytes), bytes.length);
    }
    return body;
  }

  async function refusal(request: Parameters<typeof ask>[0]): Promise<EngineError> {
    const outcome = await ask(request).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(outcome).toBeInstanceOf(EngineError);
    return outcome as EngineError;
  }

  const collection = 'c';
  const vectors = { size: 2, distance: 'Dot' };

  test('an operation that is not open yet answers not_ready, and shutting down its own code', async () => {
    const closed = openNativeEngine({ dataDir: join(dataDir, 'other') });
    await expect(closed.execute({ operation: 'list_collections' })).rejects.toMatchObject({
      code: 'not_ready',
    });
    expect(closed.status()).toEqual({
      state: 'closed',
      collections: 0,
      points: 0,
      quarantined: 0,
      faults: [],
      logDamages: [],
    });
    const closing = engine.close();
    await expect(engine.execute({ operation: 'list_collections' })).rejects.toMatchObject({
      code: 'shutting_down',
    });
    await closing;
  });

  test('answers and bodies of any length cross with every byte, many at once', async () => {
    await ask({ operation: 'create_collection', collection, body: { vectors } });
    const text = (length: number): string =>
      'ü🦀"\u0007'.repeat(Math.ceil(length / 8)).slice(0, length - 1) + '.';
    const lengths = [1, 100, 15_000, 17_000, 70_000, 300_000];
    for (const [id, length] of lengths.entries()) {
      const body = { points: [{ id, vector: [1, 2], payload: { text: text(length) } }] };
      await ask({ operation: 'upsert_points', collection, body });
    }
    const points = lengths.map((_, id) => id);
    const rounds = Array.from({ length: 20 }, () => points).flat();
    const answers = await Promise.all(
      rounds.map((id) => ask({ operation: 'get_point', collection, target: String(id) })),
    );
    for (const [at, id] of rounds.entries()) {
      expect(answers[at]).toMatchObject({ id, payload: { text: text(lengths[id] ?? 0) } });
    }
  });

  test('a body in pieces of any size is the same body, also when others arrive between them', async () => {
    await ask({ operation: 'create_collection', collection, body: { vectors } });
    const point = (id: number): string =>
      JSON.stringify({ points: [{ id, vector: [1, 2], payload: { text: 'x'.repeat(1000 * id) } }] });
    const parts = [1, 200].map((id) => ({ id, bytes: Buffer.from(point(id)), body: engine.receive() }));
    for (let at = 0; at < 300_000; at += 777) {
      for (const { bytes, body } of parts) {
        // Without room beforehand: it grows.
        if (at < bytes.length) body.append(Buffer.from(bytes.subarray(at, at + 777)), at);
      }
    }
    for (const { id, body } of parts) {
      await engine.execute({ operation: 'upsert_points', collection, body });
      expect(await ask({ operation: 'get_point', collection, target: String(id) })).toMatchObject({
        payload: { text: 'x'.repeat(1000 * id) },
      });
    }
  });

  test('the memory of a piece is freed when it is a piece alone', () => {
    const body = engine.receive();
    const alone = Buffer.allocUnsafeSlow(70_000);
    const part = Buffer.alloc(10, 'abc').subarray(1, 4);
    body.append(alone, 70_003);
    body.append(part, 70_003);
    body.discard();
    expect([alone.length, part.toString()]).toEqual([0, 'bca']);
  });

  test('a body that was discarded leaves nothing behind for the next call', async () => {
    receive('{"no": "body of anything"}').discard();
    expect(await ask({ operation: 'list_collections' })).toEqual({ collections: [] });
    await ask({ operation: 'create_collection', collection, body: { vectors } });
    expect(await ask({ operation: 'count', collection })).toEqual({ count: 0 });
  });

  test('errors carry their stable code and their details', async () => {
    await ask({ operation: 'create_collection', collection, body: { vectors } });
    const wrong = { points: [{ id: 1, vector: [1, 2, 3] }] };
    expect(await refusal({ operation: 'upsert_points', collection, body: wrong })).toMatchObject({
      code: 'dimension_mismatch',
      details: { name: '', expected: 2, got: 3 },
    });
    expect(await refusal({ operation: 'count', collection: 'x', body: {} })).toMatchObject({
      code: 'collection_not_found',
      details: { name: 'x' },
    });
    const many = { points: [1, 2, 3, 4].map((id) => ({ id, vector: [1, 2] })) };
    const refused = await refusal({ operation: 'upsert_points', collection, body: many });
    expect(refused.details.message).toContain('max_points_per_request');
  });

  test('an error in one search of a batch names its index (C6.2)', async () => {
    await ask({ operation: 'create_collection', collection, body: { vectors } });
    const body = { searches: [{ vector: [1, 2] }, { vector: [1] }] };
    expect(await refusal({ operation: 'search_batch', collection, body })).toMatchObject({
      code: 'dimension_mismatch',
      details: { expected: 2, got: 1, place: 'searches[1]' },
    });
  });

  test('a panic inside the engine is an error, and everything else goes on', async () => {
    await ask({ operation: 'create_collection', collection, body: { vectors } });
    for (const operation of OPERATIONS.filter((name) => name !== 'list_collections')) {
      const error = await refusal({ operation, collection: '__panic__', target: '1', body: {} });
      expect(error.code).toBe('internal_panic');
    }
    expect(await ask({ operation: 'count', collection, body: {} })).toEqual({ count: 0 });
  });

  test('many calls at once each get their own answer', async () => {
    await ask({ operation: 'create_collection', collection, body: { vectors } });
    const ids = Array.from({ length: 500 }, (_, id) => id);
    await Promise.all(
      ids.map((id) =>
        ask({ operation: 'upsert_points', collection, body: { points: [{ id, vector: [id, 1] }] } }),
      ),
    );
    const points = await Promise.all(
      ids.map((id) => ask({ operation: 'get_point', collection, target: String(id) })),
    );
    expect(points).toEqual(ids.map((id) => ({ id, payload: {}, vector: [id, 1] })));
    await engine.refresh(0);
    expect(engine.status()).toMatchObject({ state: 'ready', collections: 1, points: 500 });
  });

  test('status says what collections hold and what searches did, and nothing of it while closed', async () => {
    await ask({ operation: 'create_collection', collection, body: { vectors } });
    const points = [1, 2, 3].map((id) => ({ id, vector: [id, 1] }));
    await ask({ operation: 'upsert_points', collection, body: { points } });
    await ask({ operation: 'search', collection, body: { vector: [1, 2], limit: 1 } });
    await engine.refresh(0);
    const { internals } = engine.status();
    expect(internals?.memory.originals).toBeGreaterThan(0);
    expect(internals?.memory.points).toBeGreaterThan(0);
    expect(internals?.memory).toMatchObject({ originalsMapped: 0, codes: 0, links: 0 });
    expect(internals?.searches).toMatchObject({ exactScans: 1, wideWalks: 0, fallbacks: 0 });
    expect(internals?.kernels.rows).toMatch(/^(avx512|avx2|neon|scalar)$/);
    expect(internals?.kernels.codes).toMatch(/^(avx512_vnni|avx_vnni|avx2|neon|scalar)$/);
    await engine.close();
    expect(engine.status()).toEqual({
      state: 'closed',
      collections: 0,
      points: 0,
      quarantined: 0,
      faults: [],
      logDamages: [],
    });
  });

  test('a report is made for everybody once, and only when the last one is too old', async () => {
    await engine.refresh(0);
    const before = engine.status();
    await ask({ operation: 'create_collection', collection, body: { vectors } });
    await Promise.all(Array.from({ length: 100 }, () => engine.refresh(3_600_000)));
    expect(engine.status()).toEqual(before);
    await engine.refresh(0);
    expect(engine.status().collections).toBe(before.collections + 1);
    expect(engine.panics().counts).toContainEqual({ task: 'log_writer', count: 0, restarts: 0 });
    expect(engine.panics().events).toEqual([]);
  });

  test('figures of the engine cross the boundary, those of collections where they are asked for', async () => {
    await ask({ operation: 'create_collection', collection, body: { vectors } });
    const points = [1, 2, 3].map((id) => ({ id, vector: [id, 1] }));
    await ask({ operation: 'upsert_points', collection, body: { points } });
    await ask({ operation: 'search', collection, body: { vector: [1, 1], limit: 1 } });
    await engine.refresh(0);
    const without = engine.status().internals;
    expect(without?.collections).toEqual([]);
    expect(without?.disk.log).toBeGreaterThan(0);
    expect(without?.indexBacklog).toEqual({ dense: 0, sparse: 0, field: 0 });
    const { bounds, counts, seconds } = without!.logSyncs;
    expect([bounds[0], bounds.at(-1), counts.length - bounds.length]).toEqual([0.0001, 30, 1]);
    expect(Array.from(counts).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(2);
    expect(seconds).toBeGreaterThan(0);
    await engine.close();
    engine = openNativeEngine({ dataDir, reportedCollections: 2, calibrationShare: 0 });
    await engine.open();
    await ask({ operation: 'search', collection, body: { vector: [1, 1], limit: 1 } });
    await engine.refresh(0);
    expect(engine.status().internals?.collections).toEqual([
      {
        name: collection,
        points: 3,
        memoryBytes: expect.any(Number),
        diskBytes: expect.any(Number),
        backlog: { dense: 0, sparse: 0, field: 0 },
        searches: 1,
        writes: 1,
      },
    ]);
  });

  test('C11.3 requests that are given up and those that come later are refused, and nothing of them happens', async () => {
    await ask({ operation: 'create_collection', collection, body: { vectors } });
    engine.giveUpRequests();
    const points = [{ id: 1, vector: [1, 1] }];
    const refused = ask({ operation: 'upsert_points', collection, body: { points } });
    await expect(refused).rejects.toMatchObject({ code: 'shutting_down' });
    await engine.close(1000);
  });

  test('a directory that is in use is refused with a sentence, and close releases it', async () => {
    const second = openNativeEngine({ dataDir });
    await expect(second.open()).rejects.toThrow(/in use|lock|another process/i);
    await engine.close();
    await engine.close();
    const third = openNativeEngine({ dataDir });
    await third.open();
    await third.close();
  });
});

describe('the binding', () => {
  const sources = join(__dirname, '..', '..', 'crates', 'node', 'src');

  test('contains every panic: no exported function lacks catch_unwind', () => {
    const text = readdirSync(sources)
      .map((name) => readFileSync(join(sources, name), 'utf8'))
      .join('\n');
    const exported = [
      ...text.matchAll(/#\[napi(\([^\]]*\))?\]\s*(?:#\[[^\]]*\]\s*)*pub (?:async )?fn (\w+)/g),
    ];
    expect(exported.length).toBeGreaterThan(4);
    for (const [, flags, name] of exported) {
      expect(`${name ?? ''} ${flags ?? ''}`).toContain('catch_unwind');
    }
  });

  test('is imported by src/engine alone', () => {
    const importers: string[] = [];
    const visit = (folder: string): void => {
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        const path = join(folder, entry.name);
        if (entry.isDirectory()) visit(path);
        else if (/['"].*(\/binding|\.node)['"]/.test(readFileSync(path, 'utf8'))) importers.push(path);
      }
    };
    const src = join(__dirname, '..', '..', 'src');
    visit(src);
    expect(importers.every((path) => path.startsWith(join(src, 'engine')))).toBe(true);
  });
});
