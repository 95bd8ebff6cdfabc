import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFolder } from '../../src/embedded/open';
import {
  BadRequestError,
  ConflictError,
  ConnectionError,
  NotFoundError,
  open,
  type EmbeddedClient,
} from '../../src/index';
import { until } from '../until';

let folder: string;
const opened: EmbeddedClient[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-embedded-client-'));
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((db) => db.close()));
  rmSync(folder, { recursive: true, force: true });
});

async function opening(...args: Parameters<typeof open>): Promise<EmbeddedClient> {
  const db = await open(...args);
  opened.push(db);
  return db;
}

const CONFIG = { vectors: { size: 3, distance: 'Dot' } } as const;

test('C18 the methods of the client, without a server', async () => {
  const db = await opening(folder);
  expect(db.role).toBe('owner');
  await db.createCollection('c', CONFIG);
  const vector = Float32Array.of(0.5, 1, -2);
  await db.upsert('c', {
    points: [
      {
        id: 1,
        vector: vector,
        payload: { a: 'ä', big: (2n ** 60n) as unknown as number },
      },
      { id: 2, vector: [1, 0, 0] },
    ],
  });
  const { points } = await db.query('c', {
    query: vector,
    limit: 1,
    with_payload: true,
  });
  expect(points).toEqual([
    expect.objectContaining({ id: 1, score: 5.25, payload: { a: 'ä', big: 2n ** 60n } }),
  ]);
  expect(await db.count('c', {})).toEqual({ count: 2 });
  expect((await db.versionInfo()).title).toContain('kithdb');
  await expect(db.createCollection('c', CONFIG)).rejects.toThrow(ConflictError);
  await expect(db.count('none', {})).rejects.toThrow(NotFoundError);
  await expect(db.upsert('c', { points: [{ id: 1, vector: [1] }] })).rejects.toThrow(BadRequestError);
  await db.close();
  await expect(db.count('c', {})).rejects.toThrow(ConnectionError);
  const again = await opening(folder);
  expect(await again.count('c', {})).toEqual({ count: 2 });
});

test('C18 a folder that is opened twice in a process', async () => {
  const [first, second] = [await opening(folder), await opening(folder)];
  expect(second.role).toBe(`attached to process ${process.pid}`);
  await second.createCollection('c', CONFIG);
  expect(await first.count('c', {})).toEqual({ count: 0 });
  await first.close();
  expect(await second.count('c', {})).toEqual({ count: 0 });
  expect(second.role).toBe('owner');
});

test('C18 options that exclude each other, and a folder that cannot be one', async () => {
  await expect(open(folder, { exclusive: true, readOnly: true })).rejects.toThrow(TypeError);
  await expect(open(__filename)).rejects.toThrow(/Cannot open the data directory/);
});

describe('C18 options out of bounds', () => {
  const MIB = 1024 * 1024;

  test.each([
    ['searchThreads', [-1, 0, 1.5, 1025, NaN], 'searchThreads must be a whole number from 1 to 1024'],
    [
      'memoryLimit',
      [-1, 0, 64 * MIB - 1, NaN, Infinity],
      'memoryLimit must be a whole number from 67108864 to ',
    ],
    ['timeoutMs', [-1, NaN], 'timeoutMs must be a number from 0 on'],
    ['calibrationPercent', [-1, 101, NaN], 'calibrationPercent must be a number from 0 to 100'],
  ])('%s is refused', async (name, values, message) => {
    for (const value of values) {
      const opened = open(folder, { [name]: value });
      await expect(opened).rejects.toThrow(TypeError);
      await expect(opened).rejects.toThrow(message);
    }
  });

  test('those at the bounds are not', async () => {
    const db = await opening(folder, { searchThreads: 1, memoryLimit: 512 * MIB + 0.5, timeoutMs: Infinity });
    expect(db.role).toBe('owner');
    // An endless wait is no wait that is over at once.
    const other = await opening(folder, { timeoutMs: Infinity });
    expect(other.role).toBe(`attached to process ${process.pid}`);
  });
});

test('C18 a body that is JSON already, and an answer as it came', async () => {
  const transport = await openFolder(folder);
  try {
    await transport.execute({ operation: 'create_collection', collection: 'c', body: CONFIG });
    const body = new TextEncoder().encode('{"points":[{"id":1,"vector":[1,2,3]}]}');
    await transport.execute({ operation: 'upsert_points', collection: 'c', body });
    // The engine takes the memory of what it is given, and this is the caller's.
    expect(body.byteLength).toBeGreaterThan(0);
    const answer = await transport.executeBytes({ operation: 'count', collection: 'c', body: {} });
    expect(JSON.parse(answer.toString())).toMatchObject({ result: { count: 1 }, status: 'ok' });
  } finally {
    await transport.close();
  }
});

describe('C18 calls one after the other', () => {
  const query = { query: [0, 0, 1], limit: 3 };
  const points = Array.from({ length: 50 }, (_, id) => ({ id, vector: [id, 1, id % 3] }));

  test('are answered on the thread of the program, and leave time for other work', async () => {
    const db = await opening(folder);
    await db.createCollection('c', CONFIG);
    await db.upsert('c', { points });
    let iterations = 0;
    const count = (): void => {
      iterations += 1;
    };
    // A machine that stops the thread for a moment has the engine's threads answer.
    await until(async () => {
      await new Promise((resolve) => setImmediate(resolve));
      iterations = 0;
      setImmediate(count);
      await db.query('c', query);
      return iterations === 0;
    });
    iterations = 0;
    setImmediate(count);
    while (iterations === 0) await db.query('c', query);
  });

  test('are answered as those beside each other, and fail as they do', async () => {
    const db = await opening(folder);
    await db.createCollection('c', CONFIG);
    await db.upsert('c', { points });
    const beside = await Promise.all(Array.from({ length: 4 }, () => db.query('c', query)));
    const after = await db.query('c', query);
    expect(beside).toEqual([after, after, after, after]);
    await expect(db.query('c', { query: [1] })).rejects.toThrow(BadRequestError);
    await expect(db.query('none', query)).rejects.toThrow(NotFoundError);
    await expect(db.query('c', { ...query, filter: { must: [{ has_id: [-1] }] } })).rejects.toThrow(
      BadRequestError,
    );
    expect(await db.count('c', {})).toEqual({ count: 50 });
  });
});

test('C18 closing keeps the process alive until everything is closed', () => {
  const script = join(__dirname, 'closing-process.cjs');
  expect(spawnSync(process.execPath, [script], { encoding: 'utf8' }).stdout).toBe('closed\n');
});

test('C18 an option that does not exist is refused, with the one that was meant', async () => {
  const misspelt = { readonly: true } as object;
  await expect(open(folder, misspelt)).rejects.toThrow('open has no option readonly. Did you mean readOnly?');
  await expect(open(folder, { x: 1 } as object)).rejects.toThrow(
    /open has no option x\. There are: exclusive, /,
  );
});
