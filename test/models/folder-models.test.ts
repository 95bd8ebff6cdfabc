import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type RemoteClient } from '../../src';
import { startBuiltServer, type BuiltServer } from '../clients/guarded-server';
import { describeUnless, type Missing } from '../missing';
import { until } from '../until';
import { writeTinyModel } from './tiny-model';

const ROOT = join(__dirname, '..', '..');
/** Where the suite `local-models` of test:long installs what the package @kithdb/models needs. */
const LIBRARIES = join(ROOT, '.build', 'local-models', 'node_modules');
const isMissing: Missing = existsSync(join(LIBRARIES, 'onnxruntime-node'))
  ? undefined
  : 'npm run test:long -- local-models installs onnxruntime-node';
const env = { NODE_PATH: LIBRARIES };

describeUnless(isMissing)('C16 models of folders, in a server', () => {
  let folder: string;
  let server: BuiltServer;
  let db: RemoteClient;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kithdb-folder-models-'));
    const models = [
      { name: 'tiny', path: writeTinyModel(join(folder, 'tiny')), dimension: 3 },
      { name: 'slow', path: writeTinyModel(join(folder, 'slow'), { slowness: 400 }) },
    ];
    const list = join(folder, 'models.yaml');
    writeFileSync(list, JSON.stringify(models));
    server = await startBuiltServer(join(folder, 'data'), ['--models', list], env);
    db = connect(server.url, { retry: { retries: 0 } });
    await db.createCollection('notes', { vectors: { size: 3, distance: 'Dot' } });
    await db.createCollection('wide', { vectors: { size: 4, distance: 'Dot' } });
  });
  afterAll(async () => {
    await db.close();
    expect(await server.stop()).toBe(0);
    rmSync(folder, { recursive: true, force: true });
  });

  const text = (of: string, model = 'tiny') => ({ text: of, model });

  it('C16 make the vectors of points and queries', async () => {
    const points = ['owls owls', 'an oak', 'Ferns'].map((of, at) => ({ id: at + 1, vector: text(of) }));
    await db.upsert('notes', { points });
    const { points: stored } = await db.scroll('notes', { with_vector: true });
    const vectors = stored.map(({ vector }) => vector as number[]);
    // The mean of the vectors of its tokens, divided by its length.
    expect(vectors[0]).toEqual([1, 0, 0]);
    expect(vectors[1]).toEqual([0, expect.closeTo(Math.SQRT1_2, 6), expect.closeTo(Math.SQRT1_2, 6)]);
    const { points: found } = await db.query('notes', { query: text('fern'), limit: 1 });
    expect(found.map(({ id }) => id)).toEqual([3]);
  });

  it('C16 are 400 where the field has another dimension, and 502 where the model fails, with the place', async () => {
    const [ok, bad] = [
      { id: 8, vector: text('oak') },
      { id: 9, vector: text('poison') },
    ];
    await expect(db.upsert('wide', { points: [ok] })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("vectors of the model 'tiny'"),
    });
    await expect(db.upsert('notes', { points: [ok, bad] })).rejects.toMatchObject({
      status: 502,
      message: "points[1].vector: Model 'tiny' failed: its vector has a component that is no number",
    });
    await expect(db.query('notes', { query: text('oak', 'none') })).rejects.toMatchObject({
      message: "query.model: unknown model 'none', expected qdrant/bm25, tiny, slow",
    });
    expect(await db.count('notes')).toEqual({ count: 3 });
  });

  it('C16, C1.10 end with the deadline and with the client, and hold nothing up meanwhile', async () => {
    const points = Array.from({ length: 2000 }, (_, id) => ({
      id: id + 100,
      vector: text(`owl ${String(id)}`, 'slow'),
    }));
    await expect(db.upsert('notes', { points, timeout: 1 })).rejects.toMatchObject({ status: 408 });
    const over = new AbortController();
    let hasEnded = false;
    const given = db.upsert('notes', { points, timeout: 3600 }, { signal: over.signal }).finally(() => {
      hasEnded = true;
    });
    given.catch(() => undefined);
    // The model takes longer for all of these texts than the searches do, whatever the machine does beside them.
    for (let answered = 0; answered < 10; answered += 1) {
      await db.query('notes', { query: [0, 1, 0], limit: 1 });
    }
    expect(hasEnded).toBe(false);
    over.abort();
    await expect(given).rejects.toThrow();
    // What was given up is not worked on any more: the queue is empty soon.
    await until(async () => {
      const { points: found } = await db.query('notes', { query: text('fern', 'slow'), limit: 1 });
      return found.length === 1;
    });
    expect(await db.count('notes')).toEqual({ count: 3 });
  });

  it.each([
    [
      'a folder that holds no model',
      'empty',
      (path: string) => path,
      'has no model: expected onnx/model.onnx',
    ],
    [
      'a file that is none',
      'broken',
      (path: string) => {
        writeTinyModel(path);
        writeFileSync(join(path, 'onnx', 'model.onnx'), 'no model');
        return path;
      },
      'model.onnx cannot be loaded (',
    ],
  ])('C16 end the start with a sentence: %s', (_, name, make, why) => {
    const path = make(writeTinyModel(join(folder, name)));
    if (name === 'empty') rmSync(join(path, 'onnx', 'model.onnx'));
    const { status, stderr } = start(path);
    expect([status, stderr]).toEqual([1, expect.stringContaining("KITHDB_MODELS names the model 'local'")]);
    expect(stderr).toContain(why);
  });

  it('C16 end the start with the command that installs the package where it is missing', () => {
    const { status, stderr } = start(join(folder, 'tiny'), { NODE_PATH: '' });
    expect([status, stderr]).toEqual([1, expect.stringMatching(/kithdb-models-\d[\w.-]*\.tgz/)]);
  });

  it('C16, C18 run in the process of a program that opens a folder, and end with it', () => {
    const program = `
      const { open } = require(${JSON.stringify(ROOT)});
      (async () => {
        const models = [{ name: 'tiny', path: ${JSON.stringify(join(folder, 'tiny'))} }];
        const db = await open(${JSON.stringify(join(folder, 'embedded'))}, { models });
        await db.createCollection('c', { vectors: { size: 3, distance: 'Dot' } });
        await db.upsert('c', { points: [{ id: 1, vector: { text: 'oak', model: 'tiny' } }] });
        console.log(JSON.stringify((await db.retrieve('c', { ids: [1], with_vector: true }))[0].vector));
        await db.close();
      })();`;
    const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', program], {
      encoding: 'utf8',
      env: { ...process.env, ...env },
    });
    expect([status, stderr, stdout]).toEqual([0, '', '[0,1,0]\n']);
  });

  function start(path: string, own: Record<string, string> = env): { status: number | null; stderr: string } {
    const flags = ['--models', JSON.stringify([{ name: 'local', path }]), '--port', '0'];
    const data = ['--data-dir', join(folder, 'refused')];
    return spawnSync(process.execPath, [join(ROOT, 'bin', 'kithdb.js'), ...flags, ...data], {
      encoding: 'utf8',
      env: { ...process.env, ...own },
    });
  }
});
