import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open, type EmbeddedClient } from '../../src/index';
import { until } from '../until';
import { Member } from './member';

let folder: string;
const opened: EmbeddedClient[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-attached-'));
});
afterEach(async () => {
  await Member.killAll();
  await Promise.all(opened.splice(0).map((db) => db.close()));
  rmSync(folder, { recursive: true, force: true });
});

const CONFIG = { vectors: { size: 2, distance: 'Dot' } } as const;
const POINT = { points: [{ id: 1, vector: [1, 2] }] };

/** Another process that owns a folder, and this one, which is attached to it. */
async function pair(dataDir = folder): Promise<{ owner: Member; db: EmbeddedClient }> {
  const owner = await Member.open(dataDir);
  const db = await open(dataDir);
  opened.push(db);
  expect(db.role).toBe(`attached to process ${owner.pid}`);
  await db.createCollection('c', CONFIG);
  return { owner, db };
}

describe('C18 calls whose owner is stopped', () => {
  let owner: Member;
  let db: EmbeddedClient;
  beforeEach(async () => {
    ({ owner, db } = await pair());
    process.kill(owner.pid, 'SIGSTOP');
    const state = ['-o', 'state=', '-p', String(owner.pid)];
    await until(() => spawnSync('ps', state, { encoding: 'utf8' }).stdout.startsWith('T'));
  });
  afterEach(() => {
    process.kill(owner.pid, 'SIGCONT');
  });

  /** Milliseconds until a call is refused, and with what. */
  async function refusal(call: Promise<unknown>): Promise<{ readonly error: unknown; readonly ms: number }> {
    const startedAt = performance.now();
    const error = await call.then(
      () => undefined,
      (cause: unknown) => cause,
    );
    return { error, ms: performance.now() - startedAt };
  }

  test('end at their deadline', async () => {
    for (const call of [
      () => db.count('c', {}, { timeoutMs: 300 }),
      () => db.upsert('c', POINT, { timeoutMs: 300 }),
    ]) {
      const { error, ms } = await refusal(call());
      expect(error).toMatchObject({ message: 'No answer within 300 ms' });
      expect(ms).toBeLessThan(10_000);
    }
  });

  test('end with their signal', async () => {
    const controller = new AbortController();
    const reason = new Error('no longer of interest');
    const refused = refusal(db.count('c', {}, { signal: controller.signal }));
    controller.abort(reason);
    const { error, ms } = await refused;
    expect(error).toBe(reason);
    expect(ms).toBeLessThan(10_000);
  });
});

test('C18 a name that no process can send fails at once, and other calls are answered', async () => {
  const { owner, db } = await pair();
  const long = 'x'.repeat(65_537);
  const errors = await Promise.all(
    [db.count(long, {}), owner.execute('count', long, {})].map((call) =>
      call.then(
        () => undefined,
        (error: unknown) => (error as Error).message,
      ),
    ),
  );
  expect(errors[0]).toContain('a name of 65537 bytes, where 65536 are the most');
  expect(errors[1]).toBe(errors[0]);
  expect(await db.count('c', {})).toEqual({ count: 0 });
  expect(db.role).toBe(`attached to process ${owner.pid}`);
});

test('C18 a copy of a folder whose socket lies elsewhere is another folder', async () => {
  const [there, copy] = [join(folder, 'x'.repeat(120)), join(folder, 'y'.repeat(120))];
  mkdirSync(there);
  const { owner } = await pair(there);
  // The owner replaces files meanwhile: a new one may be there when it is listed, and gone when it is read.
  cpSync(there, copy, { recursive: true, filter: (path) => !path.endsWith('.new') });
  const db = await open(copy);
  opened.push(db);
  expect(db.role).toBe('owner');
  await db.upsert('c', POINT);
  expect([await db.count('c', {}), await owner.execute('count', 'c', {})]).toEqual([
    { count: 1 },
    { count: 0 },
  ]);
});

test('C18 a folder is attached to by any of its paths', async () => {
  const [there, link] = [join(folder, 'x'.repeat(120)), join(folder, 'link')];
  mkdirSync(there);
  symlinkSync(there, link);
  const owner = await Member.open(link);
  const other = await Member.open(there);
  expect(await other.role()).toBe(`attached to process ${owner.pid}`);
});
