import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../until';
import { Member } from './member';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-string-ids-'));
});
afterEach(async () => {
  await Member.killAll();
  rmSync(folder, { recursive: true, force: true });
});

test('C18, C21 an attached process has string ids, also after a takeover', async () => {
  const owner = await Member.open(folder);
  const other = await Member.open(folder);
  const config = { vectors: { size: 2, distance: 'Dot' }, ids: 'string' };
  await other.execute('create_collection', 'c', config);
  const points = [7, '7', 'a/b', 'é'.repeat(128)].map((id, n) => ({ id, vector: [n, 1] }));
  await other.execute('upsert_points', 'c', { points });
  const reads = [
    ['scroll', { limit: 2 }],
    ['scroll', { offset: 'a', limit: 2 }],
    ['query', { query: '7', limit: 5, filter: { must_not: { has_id: ['a/b'] } } }],
    ['retrieve_points', { ids: ['7', 7] }],
  ] as const;
  const answers = async (of: Member): Promise<unknown[]> => {
    const found: unknown[] = [];
    for (const [operation, body] of reads) found.push(await of.execute(operation, 'c', body));
    return found;
  };
  const before = await answers(other);
  expect(await answers(owner)).toEqual(before);
  expect(before[0]).toMatchObject({ points: [{ id: 7 }, { id: '7' }], next_page_offset: 'a/b' });
  await expect(other.execute('retrieve_points', 'c', { ids: [''] })).rejects.toMatchObject({ status: 400 });
  owner.kill();
  await until(async () => (await other.role()) === 'owner');
  expect(await answers(other)).toEqual(before);
});
