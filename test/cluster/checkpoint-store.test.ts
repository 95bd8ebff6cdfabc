import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CheckpointStoreError,
  type CheckpointManifest,
  type CheckpointStore,
  type NewCheckpoint,
} from '../../src/cluster/store/checkpoint-store';
import { manifestText, readManifest } from '../../src/cluster/store/manifest';
import { FolderObjects } from '../../src/cluster/store/folder-objects';
import type { Objects } from '../../src/cluster/store/objects';
import { openCheckpointStore } from '../../src/cluster/store/open';
import { S3Objects } from '../../src/cluster/store/s3-objects';
import { StoredCheckpoints } from '../../src/cluster/store/stored-checkpoints';
import { describeUnless } from '../missing';
import { S3_ENV, startGateway, stopGateways, whyNoGateway } from '../s3-gateway';
import { MemoryObjects } from './memory-objects';

const SHARD = '7.0';
/** Orders of operations that are tried. */
const SEEDS = Number(process.env['KITHDB_TEST_SEEDS'] ?? 40);
/** Everything is older than that. */
const ALL_OLD = { minAgeMs: -60_000 };

let folder: string;
let count = 0;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-checkpoints-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** A checkpoint with such files. */
function checkpoint(position: number, files: Record<string, string>, node = 'n1'): NewCheckpoint {
  count += 1;
  const path = join(folder, `checkpoint-${count}`);
  mkdirSync(path);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(path, name), content);
  return { shard: SHARD, position, node, folder: path };
}

const manifest = (text: string): Record<string, string> => ({ MANIFEST: text });
const data = (number: number, content: string): Record<string, string> => ({
  [`${String(number).padStart(8, '0')}.data`]: content,
});

/** The files of a folder, by name. */
function filesIn(path: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(path)
      .sort()
      .map((name) => [name, readFileSync(join(path, name), 'utf8')]),
  );
}

interface Place {
  readonly store: CheckpointStore;
  /** Another node's. */
  readonly other: CheckpointStore;
  /** The folder of its objects. */
  readonly root: string;
  /** One that remembers nothing. */
  readonly fresh: () => Promise<CheckpointStore>;
  readonly objects: Objects;
}

const PLACES: readonly [string, ReturnType<typeof whyNoGateway>, () => Promise<Place>][] = [
  [
    'a folder',
    undefined,
    async () => {
      const root = join(folder, 'store');
      const fresh = (): Promise<CheckpointStore> => openCheckpointStore(root);
      const objects = new FolderObjects(root);
      return { store: await fresh(), other: await fresh(), root, fresh, objects };
    },
  ],
  [
    'a bucket of an S3 interface',
    whyNoGateway(),
    async () => {
      Object.entries(S3_ENV).forEach(([name, value]) => (process.env[name] = value));
      const access = { endpoint: await startGateway(folder), region: 'us-east-1' };
      const fresh = (): Promise<CheckpointStore> => openCheckpointStore('s3://my-bucket/db', access);
      const objects = await S3Objects.open({ bucket: 'my-bucket', prefix: 'db' }, access);
      const root = join(folder, 'buckets', 'my-bucket', 'db');
      return { store: await fresh(), other: await fresh(), root, fresh, objects };
    },
  ],
];

for (const [name, missing, open] of PLACES) {
  describeUnless(missing)(`checkpoints in ${name}`, () => {
    let store: CheckpointStore;
    let other: CheckpointStore;
    let root: string;
    let fresh: () => Promise<CheckpointStore>;
    let under: Objects;
    beforeEach(async () => {
      ({ store, other, root, fresh, objects: under } = await open());
    });
    afterEach(() => {
      store.close();
      other.close();
      under.close();
      stopGateways();
    });

    const at = (kind: string): string => join(root, 'shards', SHARD, kind);
    const objects = (kind: string): string[] => (existsSync(at(kind)) ? readdirSync(at(kind)).sort() : []);
    const objectOf = (of: CheckpointManifest, file: string): string => {
      const { sha256, upload } = of.files.find((one) => one.name === file)!;
      return join(at('files'), `${sha256}.${upload}`);
    };
    const fetched = async (of: CheckpointManifest): Promise<Record<string, string>> => {
      count += 1;
      const into = join(folder, `into-${count}`);
      await other.fetch(of, into);
      return filesIn(into);
    };

    it('are what was put, and only the files that are new are written', async () => {
      expect(await store.latest(SHARD)).toBeUndefined();
      expect(await store.list(SHARD)).toEqual({ checkpoints: [], unreadable: [] });
      const files = { ...manifest('one'), ...data(1, 'rows'), ...data(2, '') };
      const facts = { schema: '3' };
      const made = await store.put({ ...checkpoint(12, files), digest: 'ab', facts });
      expect(made).toMatchObject({ shard: SHARD, position: 12, node: 'n1', digest: 'ab', facts });
      expect(await other.latest(SHARD)).toEqual(made);
      expect(await fetched(made)).toEqual(files);
      await other.verify(made);
      const more = { ...manifest('two'), ...data(1, 'rows'), ...data(3, 'rows') };
      const next = await other.put(checkpoint(40, more, 'n2'));
      expect(objects('files')).toHaveLength(4);
      expect(await fetched(next)).toEqual(more);
      expect(await store.latest(SHARD)).toEqual(next);
      expect([objects('uploads'), objects('clock')]).toEqual([[], []]);
      expect(await store.latest('7.1')).toBeUndefined();
    });

    it('of two writers at once are both whole, also at one position', async () => {
      const files = { ...manifest('one'), ...data(1, 'rows') };
      const made = await Promise.all([
        store.put(checkpoint(5, files)),
        other.put(checkpoint(5, files, 'n2')),
        store.put(checkpoint(6, { ...files, ...manifest('two') })),
      ]);
      const { checkpoints, unreadable } = await store.list(SHARD);
      expect(unreadable).toEqual([]);
      expect(checkpoints.map((one) => one.missing)).toEqual([[], [], []]);
      expect(checkpoints[0]!.manifest).toEqual(made[2]);
      for (const one of made) expect((await fetched(one))['00000001.data']).toBe('rows');
    });

    it('that are damaged are errors that name the object, and leave no folder', async () => {
      const files = { ...manifest('one'), ...data(1, 'rows of a file') };
      const into = join(folder, 'into');
      for (const damage of [
        (path: string) => {
          writeFileSync(path, 'rows of a filf');
        },
        (path: string) => {
          writeFileSync(path, 'rows of a file, and more');
        },
        (path: string) => {
          truncateSync(path, 3);
        },
        (path: string) => {
          rmSync(path);
        },
      ]) {
        const made = await store.put(checkpoint(1, files));
        const object = objectOf(made, '00000001.data');
        damage(object);
        const named = new RegExp(object.slice(object.indexOf('/shards/')).replaceAll('.', '\\.'));
        await expect(store.fetch(made, into)).rejects.toThrow(CheckpointStoreError);
        await expect(store.fetch(made, into)).rejects.toThrow(named);
        await expect(store.fetch(made, into)).rejects.toMatchObject({
          problem: existsSync(object) ? 'damaged' : 'missing',
        });
        await expect(other.verify(made)).rejects.toThrow(named);
        expect(readdirSync(folder).filter((entry) => /^into(?:\.|$)/.test(entry))).toEqual([]);
        // A later checkpoint would name the damaged file otherwise.
        await store.discard(made);
        expect(await store.latest(SHARD)).toBeUndefined();
        expect(await fetched(await store.put(checkpoint(2, files)))).toEqual(files);
        await store.discard((await store.latest(SHARD))!);
      }
    });

    it('that are not whole are passed over for older ones', async () => {
      const first = await store.put(checkpoint(1, { ...manifest('one'), ...data(1, 'a') }));
      const second = await store.put(checkpoint(2, { ...manifest('two'), ...data(2, 'b') }));
      const third = await store.put(checkpoint(3, { ...manifest('three'), ...data(3, 'c') }));
      rmSync(objectOf(third, '00000003.data'));
      expect(await other.latest(SHARD)).toEqual(second);
      const text = join(at('manifests'), `${second.id}.json`);
      for (const damaged of [
        readFileSync(text, 'utf8').slice(0, -20),
        readFileSync(text, 'utf8').replace('"position": 2', '"position": 3'),
        readFileSync(text, 'utf8').replace(`"node": "n1"`, `"node": "n2"`),
        '',
        '[]',
        '{"kithdb_checkpoint":2}',
      ]) {
        writeFileSync(text, damaged);
        // A bucket's times are of a second, and manifests do not change.
        const one = await fresh();
        expect(await one.latest(SHARD)).toEqual(first);
        const { checkpoints, unreadable } = await one.list(SHARD);
        one.close();
        expect(checkpoints.map(({ missing }) => missing.length)).toEqual([1, 0]);
        expect(unreadable).toHaveLength(1);
        expect(unreadable[0]!.message).toContain(`${second.id}.json`);
      }
      rmSync(text);
      writeFileSync(join(at('manifests'), 'rubbish'), 'x');
      expect(await other.latest(SHARD)).toEqual(first);
    });

    it('are confirmed by other nodes', async () => {
      const made = await store.put(checkpoint(1, manifest('one')));
      await expect(other.confirm(made, 'n1')).rejects.toThrow(/another node/);
      await expect(other.confirm(made, '../x')).rejects.toThrow(/another node/);
      await other.confirm(made, 'n2');
      await other.confirm(made, 'n2');
      await other.confirm(made, 'n.3');
      const { checkpoints } = await store.list(SHARD);
      expect(checkpoints[0]!.confirmedBy).toEqual(['n.3', 'n2']);
    });

    it('are removed when they are old, but for two, young ones, and the newest that was confirmed', async () => {
      const made: CheckpointManifest[] = [];
      for (const position of [1, 2, 3, 4, 5, 6]) {
        const files = { ...manifest(`${position}`), ...data(1, 'same'), ...data(2, `only of ${position}`) };
        made.push(await store.put(checkpoint(position, files)));
      }
      expect(await store.removeOld(SHARD)).toEqual({ checkpoints: [], files: 0 });
      for (const one of made.slice(0, 2)) await other.confirm(one, 'n2');
      rmSync(objectOf(made[5]!, '00000002.data'));
      const { checkpoints, files } = await other.removeOld(SHARD, ALL_OLD);
      expect([...checkpoints].sort()).toEqual([made[0]!.id, made[2]!.id, made[5]!.id]);
      // Of each its manifest of the engine and its own file, of which one was missing.
      expect(files).toBe(5);
      const left = (await store.list(SHARD)).checkpoints;
      expect(left.map((one) => one.manifest.position)).toEqual([5, 4, 2]);
      for (const { manifest: of } of left) expect((await fetched(of))['00000001.data']).toBe('same');
      expect(objects('confirmations')).toEqual([
        `${made[1]!.id}.n1`,
        `${made[1]!.id}.n2`,
        `${made[3]!.id}.n1`,
        `${made[4]!.id}.n1`,
      ]);
      expect(await store.removeOld(SHARD, ALL_OLD)).toEqual({ checkpoints: [], files: 0 });
      expect(objects('clock')).toEqual([]);
    });

    it('keep all files while a manifest cannot be read, and those of later releases', async () => {
      const made: CheckpointManifest[] = [];
      for (const position of [1, 2, 3, 4]) {
        made.push(await store.put(checkpoint(position, manifest(`${position}`))));
      }
      const key = `shards/${SHARD}/manifests/${made[1]!.id}.json`;
      const replace = async (text: string): Promise<void> => {
        await under.remove(key);
        expect(await under.createText(key, text)).toBe(true);
        expect(await under.createText(key, 'other')).toBe(false);
        expect(await under.text(key)).toBe(text);
      };
      await replace('{"kithdb_checkpoint":2}');
      expect(await store.removeOld(SHARD, ALL_OLD)).toEqual({ checkpoints: [made[0]!.id], files: 0 });
      await replace('{"kithdb_check');
      // It is old, too.
      expect(await store.removeOld(SHARD, ALL_OLD)).toEqual({ checkpoints: [made[1]!.id], files: 2 });
      expect((await store.list(SHARD)).checkpoints.map((one) => one.missing)).toEqual([[], []]);
    });

    it('that failed or were given up leave what a later removal removes', async () => {
      const over = new AbortController();
      const asked = store.put(checkpoint(1, { ...manifest('one'), ...data(1, 'a') }), over.signal);
      over.abort(new Error('enough'));
      await expect(asked).rejects.toThrow('enough');
      expect([objects('manifests'), objects('uploads')]).toEqual([[], []]);
      await expect(store.put(checkpoint(1, {}))).rejects.toThrow(
        /has no files of a checkpoint|have no manifest/,
      );
      for (const bad of [
        { shard: '../x' },
        { shard: '' },
        { node: 'a/b' },
        { position: -1 },
        { position: 0.5 },
      ]) {
        await expect(store.put({ ...checkpoint(1, manifest('x')), ...bad })).rejects.toThrow(
          CheckpointStoreError,
        );
      }
      mkdirSync(at('files'), { recursive: true });
      const orphan = join(at('files'), `${'a'.repeat(64)}.${'b'.repeat(32)}`);
      writeFileSync(orphan, 'x');
      writeFileSync(join(at('files'), 'not ours'), 'x');
      mkdirSync(at('uploads'), { recursive: true });
      const note = join(at('uploads'), `${'b'.repeat(32)}.json`);
      writeFileSync(note, '{}');
      // It may be under way.
      await store.removeOld(SHARD);
      expect([existsSync(orphan), existsSync(note)]).toEqual([true, true]);
      await store.removeOld(SHARD, ALL_OLD);
      expect([existsSync(orphan), existsSync(note)]).toEqual([false, false]);
      expect(objects('files')).toEqual(['not ours']);
    });

    it('are fetched into a new folder only, and nothing is left of what is given up', async () => {
      const made = await store.put(checkpoint(1, manifest('one')));
      const into = join(folder, 'into');
      const given = AbortSignal.abort(new Error('enough'));
      await expect(store.fetch(made, into, given)).rejects.toThrow('enough');
      expect(existsSync(into)).toBe(false);
      mkdirSync(into);
      await expect(store.fetch(made, into)).rejects.toThrow(/there already/);
      const evil = { ...made, files: [{ ...made.files[0]!, name: '../evil' }] };
      await expect(store.fetch(evil, join(folder, 'b'))).rejects.toThrow(/cannot be the manifest/);
    });
  });
}

describeUnless(whyNoGateway())('a bucket', () => {
  afterEach(stopGateways);

  it('takes a large file in parts, each compared by the server, and no other under its name', async () => {
    Object.entries(S3_ENV).forEach(([name, value]) => (process.env[name] = value));
    const access = { endpoint: await startGateway(folder), region: 'us-east-1' };
    const store = await openCheckpointStore('s3://my-bucket', access);
    const large = 'abcdefg'.repeat(5_000_000);
    const made = await store.put(checkpoint(1, { ...manifest('m'), ...data(1, large) }));
    await store.verify(made);
    const again = await store.put(checkpoint(2, data(1, large)));
    expect(again.files[0]!.upload).toBe(made.files.find(({ bytes }) => bytes > 9)!.upload);
    store.close();
  });

  it('that is not there, or cannot be reached, is an error that says so', async () => {
    Object.entries(S3_ENV).forEach(([name, value]) => (process.env[name] = value));
    const endpoint = await startGateway(folder);
    const store = await openCheckpointStore('s3://other-bucket/x', { endpoint, region: 'us-east-1' });
    await expect(store.latest(SHARD)).rejects.toMatchObject({
      problem: 'unavailable',
      message: expect.stringMatching(/^s3:\/\/other-bucket\/x\/shards\/7\.0\/\w+\/: NoSuchBucket/),
    });
    await expect(store.put(checkpoint(1, manifest('m')))).rejects.toThrow(/NoSuchBucket/);
    store.close();
    await expect(openCheckpointStore('s3://Not_A_Bucket')).rejects.toThrow(/must be s3:/);
  });
});

describe('a folder', () => {
  it('loses what an earlier process has left there unfinished', async () => {
    const root = join(folder, 'store');
    mkdirSync(join(root, 'unfinished'), { recursive: true });
    const left = join(root, 'unfinished', 'left');
    writeFileSync(left, 'x');
    const store = await openCheckpointStore(root);
    await store.put(checkpoint(1, manifest('one')));
    expect(existsSync(left)).toBe(true);
    const before = Date.now() / 1000 - 25 * 3600;
    utimesSync(left, before, before);
    await store.put(checkpoint(2, manifest('two')));
    expect(readdirSync(join(root, 'unfinished'))).toEqual([]);
  });
});

describe('a manifest', () => {
  it('is read as it was written, and refused with any byte changed', async () => {
    const store = await openCheckpointStore(join(folder, 'store'));
    const made = await store.put(checkpoint(3, { ...manifest('one'), ...data(1, 'a') }));
    const text = manifestText(made);
    expect(readManifest(text, 'm')).toEqual(made);
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      let read: CheckpointManifest | undefined;
      try {
        read = readManifest(changed.toString('latin1'), 'm');
      } catch (error) {
        expect(error).toBeInstanceOf(CheckpointStoreError);
      }
      // Blanks between the parts are none of its content.
      if (read !== undefined) expect(read).toEqual(made);
    }
  });
});

describe('writers and removals at the same time', () => {
  /** Numbers that follow from a seed. */
  function random(seed: number): () => number {
    let state = seed;
    return () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state / 2 ** 32;
    };
  }

  /** Lets one operation at a time happen, in a random order; some are held up for long. */
  async function interleave(
    objects: MemoryObjects,
    seed: number,
    work: () => readonly Promise<unknown>[],
  ): Promise<void> {
    const next = random(seed);
    const waiting: { readonly resolve: () => void; readonly from: number }[] = [];
    let step = 0;
    objects.turn = () =>
      new Promise((resolve) => {
        const isHeldUp = next() < 0.08;
        waiting.push({ resolve, from: step + (isHeldUp ? Math.floor(next() * 200) : 0) });
      });
    const state = { isOver: false };
    const all = Promise.all(work()).finally(() => {
      state.isOver = true;
    });
    all.catch(() => undefined);
    while (!state.isOver) {
      await new Promise((resolve) => setImmediate(resolve));
      step += 1;
      objects.now += Math.floor(next() * 10);
      const ready = waiting.filter(({ from }) => from <= step);
      const one = ready[Math.floor(next() * ready.length)];
      if (one === undefined) continue;
      waiting.splice(waiting.indexOf(one), 1);
      one.resolve();
    }
    await all;
  }

  it('keep the files of a checkpoint that a listing missed, and that another has handed on meanwhile', async () => {
    const objects = new MemoryObjects();
    const [one, two] = [new StoredCheckpoints(objects), new StoredCheckpoints(objects)];
    // They fill the first page of a listing.
    for (const position of [1, 3, 4]) await one.put(checkpoint(position, manifest(`${position}`)));
    const before = await one.put(checkpoint(9, { ...manifest('9'), ...data(1, 'shared') }));
    const copy = checkpoint(2, { ...manifest('2'), ...data(1, 'shared') });
    let made: CheckpointManifest | undefined;
    let pages = 0;
    objects.turn = async (operation, key) => {
      if (operation !== 'list is done' || key !== `shards/${SHARD}/manifests/`) return;
      pages += 1;
      // The first listing has two pages. Then the first page of the next one.
      if (pages !== 3) return;
      objects.turn = () => Promise.resolve();
      made = await two.put(copy);
      await two.discard(before);
    };
    await one.removeOld(SHARD, { minAgeMs: 100_000 });
    expect(made!.files.some(({ upload }) => upload === before.files[0]!.upload)).toBe(true);
    await two.verify(made!);
  });

  it('never leave a checkpoint that was acknowledged without one of its files', async () => {
    let failed = 0;
    let acknowledged = 0;
    let removed = 0;
    const folders = [0, 1, 2, 3].map((at) =>
      checkpoint(at, { ...manifest(`${at % 3}`), ...data(1, 'same'), ...data(2, `${at % 2}`) }),
    );
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const objects = new MemoryObjects();
      const stores = [new StoredCheckpoints(objects), new StoredCheckpoints(objects)] as const;
      const made: CheckpointManifest[] = [];
      /** The files of checkpoints that were acknowledged and not removed, and that are not there. */
      const lost = (): string[] =>
        made
          .filter(({ id }) => objects.objects.has(`shards/${SHARD}/manifests/${id}.json`))
          .flatMap(({ files }) => files.map((file) => `shards/${SHARD}/files/${file.sha256}.${file.upload}`))
          .filter((key) => !objects.objects.has(key));
      objects.changed = () => {
        expect([seed, lost()]).toEqual([seed, []]);
      };
      const put = async (store: CheckpointStore, position: number): Promise<void> => {
        try {
          made.push(await store.put({ ...folders[position % 4]!, position }));
        } catch (error) {
          expect(error).toMatchObject({ problem: 'unavailable' });
          failed += 1;
        }
        expect([seed, lost()]).toEqual([seed, []]);
      };
      const retention = { keep: 1, minAgeMs: [50, 300, 1000][seed % 3]! };
      const remove = async (store: CheckpointStore): Promise<void> => {
        for (let round = 0; round < 8; round += 1) {
          const done = await store.removeOld(SHARD, retention).catch((error: unknown) => {
            // Another has removed what it wrote to read the clock, which was old by then.
            expect(error).toMatchObject({ problem: 'unavailable' });
          });
          removed += done?.files ?? 0;
        }
      };
      const writing = async (store: CheckpointStore, positions: readonly number[]): Promise<void> => {
        for (const position of positions) await put(store, position);
      };
      await interleave(objects, seed, () => [
        writing(stores[0], [1, 4, 7, 10]),
        writing(stores[1], [2, 5, 8, 11]),
        writing(stores[0], [3, 6, 9, 12]),
        remove(stores[0]),
        remove(stores[1]),
      ]);
      acknowledged += made.length;
    }
    // Otherwise nothing was tried.
    expect(acknowledged).toBeGreaterThan(2 * SEEDS);
    expect(removed).toBeGreaterThan(2 * SEEDS);
    expect(failed).toBeLessThan(acknowledged);
  });
});
