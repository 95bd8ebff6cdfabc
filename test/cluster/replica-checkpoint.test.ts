import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openNativeEngine } from '../../src/engine';
import type { Engine, EngineRequest } from '../../src/engine/types';
import {
  removeUnfinishedCheckpoints,
  restoreReplica,
  saveCheckpoint,
  type ReplicaPlace,
} from '../../src/cluster/replica/checkpoint';
import { positionOfCheckpoint } from '../../src/cluster/replica/checkpoint-position';
import { CheckpointStoreError, type CheckpointStore } from '../../src/cluster/store/checkpoint-store';
import { until } from '../until';
import { openCheckpointStore } from '../../src/cluster/store/open';

let folder: string;
let store: CheckpointStore;
const engines: Engine[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-replica-'));
  store = await openCheckpointStore(join(folder, 'store'));
});
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

async function opened(name: string): Promise<{ engine: Engine; dataDir: string }> {
  const dataDir = join(folder, name);
  mkdirSync(dataDir, { recursive: true });
  const engine = openNativeEngine({ dataDir });
  engines.push(engine);
  await engine.open();
  return { engine, dataDir };
}

async function run(engine: Engine, request: EngineRequest, json?: object): Promise<unknown> {
  const bytes = json === undefined ? undefined : Buffer.from(JSON.stringify(json));
  const body = bytes && engine.receive();
  if (bytes !== undefined) body?.append(bytes, bytes.length);
  const answer = await engine.execute({ ...request, body });
  return (JSON.parse(answer.toString()) as { readonly result: unknown }).result;
}

const POINTS = 2000;
const DIMENSIONS = 16;
const vectorOf = (id: number): number[] =>
  Array.from({ length: DIMENSIONS }, (_, at) => (Math.sin(id * 12.9898 + at * 78.233) * 43_758.5453) % 1);

/** A collection with vectors, payloads and a field index. */
async function fill(engine: Engine, collection: string): Promise<void> {
  const vectors = { size: DIMENSIONS, distance: 'Cosine' };
  await run(engine, { operation: 'create_collection', collection }, { vectors });
  const index = { field_name: 'group', field_schema: 'keyword' };
  await run(engine, { operation: 'create_field_index', collection }, index);
  await upsert(engine, collection, 0, POINTS);
  await run(engine, { operation: 'delete_points', collection }, { points: [3, 4, 5] });
}

async function upsert(engine: Engine, collection: string, from: number, to: number): Promise<void> {
  const points = Array.from({ length: to - from }, (_, at) => ({
    id: from + at,
    vector: vectorOf(from + at),
    payload: { group: `g${(from + at) % 7}`, number: from + at },
  }));
  await run(engine, { operation: 'upsert_points', collection }, { points });
}

/** What readers see of a collection. */
async function seen(engine: Engine, collection: string): Promise<unknown> {
  const filter = { must: [{ key: 'group', match: { value: 'g2' } }] };
  const search = (more: object): Promise<unknown> =>
    run(
      engine,
      { operation: 'search', collection },
      { vector: vectorOf(77), limit: 10, with_payload: true, params: { exact: true }, ...more },
    );
  const infoNow = async () =>
    (await run(engine, { operation: 'collection_info', collection })) as {
      readonly payload_schema: Readonly<Record<string, { readonly points: number }>>;
      readonly points_count: number;
    };
  // An index is built beside reads, which do not wait for it.
  await until(async () => {
    const { payload_schema: schema, points_count: points } = await infoNow();
    return Object.values(schema).every((index) => index.points === points);
  });
  const info = await infoNow();
  return {
    schema: info.payload_schema,
    points: info.points_count,
    count: await run(engine, { operation: 'count', collection }, { exact: true }),
    filtered: await run(engine, { operation: 'count', collection }, { exact: true, filter }),
    found: await search({}),
    narrowed: await search({ filter }),
    one: await run(engine, { operation: 'get_point', collection, target: '9' }),
  };
}

const leftIn = (dataDir: string): string[] => readdirSync(join(dataDir, 'replicas', 'unfinished'));

/** Saves a checkpoint as if it were of a later position. */
async function saveAt(place: ReplicaPlace, position: number): Promise<void> {
  const put: CheckpointStore['put'] = (checkpoint, signal) =>
    place.store.put({ ...checkpoint, position }, signal);
  await saveCheckpoint({ ...place, store: { put } as CheckpointStore }, { node: 'n1' });
}

describe('a replica', () => {
  it('is made of a checkpoint on another node, under another name, as it was', async () => {
    const source = await opened('source');
    await fill(source.engine, 'c.0');
    const place = { ...source, store, shard: '7.0', collection: 'c.0' };
    const digestAt = (position: number): string => `d${position}`;
    const made = await saveCheckpoint(place, { node: 'n1', digestAt, facts: { by: 'a test' } });
    expect(made).toMatchObject({
      shard: '7.0',
      node: 'n1',
      position: 0,
      digest: 'd0',
      facts: { by: 'a test' },
    });
    expect(leftIn(source.dataDir)).toEqual([]);
    const before = await seen(source.engine, 'c.0');
    expect(before).toMatchObject({ points: POINTS - 3, count: { count: POINTS - 3 } });

    const target = await opened('target');
    const copy = { ...target, store, shard: '7.0', collection: 'copy.0' };
    expect(await restoreReplica(copy)).toEqual({ manifest: made, passedOver: [] });
    expect(await seen(target.engine, 'copy.0')).toEqual(before);
    expect(leftIn(target.dataDir)).toEqual([]);

    // What has not changed is not written again.
    const again = await saveCheckpoint(place, { node: 'n1' });
    expect(new Set(again.files.map(({ upload }) => upload))).toEqual(new Set([made.files[0]!.upload]));

    // It goes on by itself.
    await upsert(source.engine, 'c.0', POINTS, POINTS + 10);
    expect(await seen(target.engine, 'copy.0')).toEqual(before);
    await upsert(target.engine, 'copy.0', POINTS, POINTS + 10);
    expect(await seen(target.engine, 'copy.0')).toEqual(await seen(source.engine, 'c.0'));
    await saveAt(copy, 5);
    // In the place of one that is there.
    expect((await restoreReplica(place)).manifest.position).toBe(5);
    expect(await seen(source.engine, 'c.0')).toMatchObject({ count: { count: POINTS + 7 } });

    const reopened = engines.indexOf(target.engine);
    engines.splice(reopened, 1);
    await target.engine.close();
    const { engine } = await opened('target');
    expect(await seen(engine, 'copy.0')).toMatchObject({ count: { count: POINTS + 7 } });
  });

  it('is made of an older checkpoint where newer ones are damaged, and not at all of damaged ones', async () => {
    const source = await opened('source');
    const place: ReplicaPlace = { ...source, store, shard: 's', collection: 'c' };
    await fill(source.engine, 'c');
    const first = await saveCheckpoint(place, { node: 'n1' });
    await upsert(source.engine, 'c', POINTS, POINTS + 500);
    // A later position: the numbers of operations are those of one node here.
    await saveAt(place, 5);
    await upsert(source.engine, 'c', POINTS + 500, POINTS + 900);
    await saveAt(place, 6);
    const [third, second] = (await store.list('s')).checkpoints.map(({ manifest }) => manifest);
    const own = (files: typeof first.files): string[] =>
      files
        .filter(({ upload }) => upload !== first.files[0]!.upload)
        .map(({ sha256, upload }) => join(folder, 'store', 'shards', 's', 'files', `${sha256}.${upload}`));
    rmSync(own(third!.files.filter(({ upload }) => !second!.files.some((one) => one.upload === upload)))[0]!);
    const damaged = own(second!.files).at(-1)!;
    writeFileSync(damaged, Buffer.alloc(statSync(damaged).size));
    const { manifest, passedOver } = await restoreReplica({ ...place, collection: 'other' });
    expect(manifest).toEqual(first);
    expect(passedOver).toMatchObject([
      { manifest: { position: 6 }, reason: { problem: 'missing' } },
      { manifest: { position: 5 }, reason: { problem: 'damaged' } },
    ]);
    expect(await run(source.engine, { operation: 'count', collection: 'other' }, {})).toEqual({
      count: POINTS - 3,
    });
    for (const file of own(first.files)) rmSync(file);
    await store.discard(first);
    const refused = restoreReplica({ ...place, collection: 'none' });
    await expect(refused).rejects.toThrow('s: no checkpoint of this shard can be used');
    await expect(restoreReplica({ ...place, shard: 'other' })).rejects.toThrow(CheckpointStoreError);
    const exists = await run(source.engine, { operation: 'collection_exists', collection: 'none' });
    expect(exists).toEqual({ exists: false });
    expect(leftIn(source.dataDir)).toEqual([]);
  });

  it('is not made of what is no checkpoint of an engine', async () => {
    const { engine, dataDir } = await opened('target');
    const fake = join(folder, 'fake');
    mkdirSync(fake);
    writeFileSync(join(fake, 'MANIFEST'), `KITHMANI${'x'.repeat(40)}`);
    const made = await store.put({ shard: 's', position: 1, node: 'n1', folder: fake });
    const asked = restoreReplica({ engine, dataDir, store, shard: 's', collection: 'c' });
    await expect(asked).rejects.toThrow(/no checkpoint/);
    const cause = await asked.catch((error: unknown) => (error as Error).cause as AggregateError);
    expect((cause as AggregateError).errors).toMatchObject([{ code: 'bad_request' }]);
    await store.discard(made);
    expect(leftIn(dataDir)).toEqual([]);
  });

  it('that does not exist has no checkpoint, and leaves nothing', async () => {
    const { engine, dataDir } = await opened('source');
    const place = { engine, dataDir, store, shard: 's', collection: 'c' };
    await expect(saveCheckpoint(place, { node: 'n1' })).rejects.toMatchObject({
      code: 'collection_not_found',
    });
    expect([await store.latest('s'), leftIn(dataDir)]).toEqual([undefined, []]);
    // What a process that ended has left is removed at the next start.
    const left = join(dataDir, 'replicas', 'unfinished', '4194305-left');
    mkdirSync(left);
    await removeUnfinishedCheckpoints(dataDir);
    expect(existsSync(left)).toBe(false);
  });
});

describe('the position of a checkpoint', () => {
  it('is that of the record of its last operation', async () => {
    const write = async (operation: bigint): Promise<number> => {
      const head = Buffer.alloc(24);
      head.write('KITHMANI');
      head.writeBigUInt64LE(operation, 16);
      writeFileSync(join(folder, 'MANIFEST'), head);
      return positionOfCheckpoint(folder);
    };
    expect(await write(0n)).toBe(0);
    expect(await write((1n << 20n) - 1n)).toBe(0);
    expect(await write(123_456n << 20n)).toBe(123_456);
    expect(await write((123_456n << 20n) + 999n)).toBe(123_456);
    writeFileSync(join(folder, 'MANIFEST'), 'KITHMANI');
    await expect(positionOfCheckpoint(folder)).rejects.toThrow(/no manifest/);
  });
});
