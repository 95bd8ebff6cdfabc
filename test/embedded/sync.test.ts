import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../until';
import { Member } from './member';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-sync-'));
});
afterEach(async () => {
  await Member.killAll();
  rmSync(folder, { recursive: true, force: true });
});

const CONFIG = { vectors: { size: 2, distance: 'Dot' } };
const content = (id: number, hash: string) => ({ id, vector: [id, 1], payload: { source: 'a', hash } });
const part = (points: readonly object[], more: object = {}) => ({
  scope: { must: { key: 'source', match: { value: 'a' } } },
  hash_key: 'hash',
  points,
  ...more,
});

test('C18, C20 an attached process plans and syncs, in parts too', async () => {
  const owner = await Member.open(folder);
  const other = await Member.open(folder);
  await owner.execute('create_collection', 'c', CONFIG);
  const first = [content(1, 'x'), content(2, 'x')];
  expect(await other.execute('sync_points', 'c', part(first, { sync_id: 's' }))).toEqual({ staged: 2 });
  const last = part([content(3, 'x')], { sync_id: 's', last: true, staged: 2 });
  const synced = await other.execute('sync_points', 'c', last);
  expect(synced).toMatchObject({ added: 3, updated: 0, unchanged: 0, deleted: 0 });
  const hashes = part([
    { id: 1, hash: 'x' },
    { id: 2, hash: 'y' },
  ]);
  const plan = await other.execute('plan_sync', 'c', hashes);
  expect(plan).toEqual(await owner.execute('plan_sync', 'c', hashes));
  expect(plan).toMatchObject({ needed: [2], unchanged: 1, deleted: 1 });
  await expect(other.execute('sync_points', 'c', hashes)).rejects.toMatchObject({ status: 409 });
});

test('C18, C20 parts that went with their owner delete nothing', async () => {
  const owner = await Member.open(folder);
  const other = await Member.open(folder);
  await owner.execute('create_collection', 'c', CONFIG);
  await owner.execute('sync_points', 'c', part([content(1, 'x'), content(2, 'x')]));
  const half = part([{ id: 1, hash: 'x' }], { sync_id: 's' });
  expect(await other.execute('sync_points', 'c', half)).toEqual({ staged: 1 });
  owner.kill();
  await until(async () => (await other.role()) === 'owner');
  const last = part([{ id: 2, hash: 'x' }], { sync_id: 's', last: true });
  await expect(other.execute('sync_points', 'c', last)).rejects.toMatchObject({ status: 409 });
  expect(await other.execute('count', 'c', {})).toEqual({ count: 2 });
});
