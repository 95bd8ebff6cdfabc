import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeManifest } from '../../src/operations/backup-manifest';
import { BackupBucket } from '../../src/operations/backup-s3';
import { expiredOf, type BackupEntry } from '../../src/operations/backup-rotation';
import { fetchBackup } from '../../src/operations/fetched-backup';
import { parseS3, S3Bucket } from '../../src/operations/s3-bucket';
import { itUnless } from '../missing';
import { S3_ENV, startGateway, stopGateways, whyNoGateway } from '../s3-gateway';
import { kithdb, kithdbWith } from './command';
import { Served } from './served';

let folder: string;
let dataDir: string;
let server: Served | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-rotation-'));
  dataDir = join(folder, 'data');
  server = undefined;
});
afterEach(async () => {
  await server?.kill();
  stopGateways();
  rmSync(folder, { recursive: true });
});

describe('C11.4 which backups a new one replaces', () => {
  const NOW = new Date('2026-07-20T02:00:00Z');
  const NEW = '20260720T020000Z';
  const day = (number: number): string => `202607${String(number).padStart(2, '0')}T020000Z`;
  const entry = (stamp: string, state: BackupEntry['state'] = 'whole'): BackupEntry => ({
    name: state === 'whole' ? stamp : `${stamp}.${state}`,
    stamp,
    state,
  });

  it.each<[string, BackupEntry[], number, string[]]>([
    ['none at first', [entry(NEW)], 1, []],
    ['the oldest', [entry(day(17)), entry(NEW), entry(day(19)), entry(day(18))], 2, [day(17), day(18)]],
    ['none while there are too few', [entry(day(19)), entry(NEW)], 3, []],
    ['no whole one for damaged ones', [entry(day(18)), entry(day(19), 'damaged'), entry(NEW)], 2, []],
    [
      'damaged ones that are older than all that are kept',
      [entry(day(16), 'damaged'), entry(day(17)), entry(day(18), 'damaged'), entry(NEW)],
      2,
      [`${day(16)}.damaged`],
    ],
    [
      'what was begun a week ago and not ended',
      [entry(day(12), 'unfinished'), entry(day(14), 'unfinished'), entry(NEW)],
      5,
      [`${day(12)}.unfinished`],
    ],
    ['never itself, where the clock was set back', [entry('20270101T000000Z'), entry(NEW)], 1, []],
  ])('%s', (_, entries, keep, expired) => {
    expect(expiredOf(entries, NEW, keep, NOW)).toEqual(expired);
  });
});

/** Runs a backup that keeps some. */
async function kept(to: string, ...flags: string[]) {
  const { code, out, err } = await kithdbWith(
    S3_ENV,
    'backup',
    '--data-dir',
    dataDir,
    '--to',
    to,
    '--json',
    ...flags,
  );
  return { code, err, report: out === '' ? undefined : JSON.parse(out) };
}

/** Lets a backup be an earlier one. */
function age(to: string, name: string, stamp: string): void {
  renameSync(join(to, name), join(to, name.replace(/^[^.]*/, stamp)));
}

describe('C11.4 kithdb backup --keep beside a running server', () => {
  const to = (): string => join(folder, 'backups');
  const names = (): string[] => readdirSync(to()).sort();

  it('keeps the newest whole ones, and what is none of its own', async () => {
    server = await Served.on(dataDir);
    await server.create('points');
    await server.upsert('points', 0, 100);
    mkdirSync(to());
    writeFileSync(join(to(), 'notes'), '');
    mkdirSync(join(to(), '20200101T000000Z.removing'));
    for (const stamp of ['20260101T000000Z', '20260102T000000Z']) {
      expect(await kept(to(), '--keep', '2')).toMatchObject({ code: 0, err: '' });
      age(to(), names().at(-2)!, stamp);
    }
    // One that lacks a part is not counted, and none is removed for it.
    mkdirSync(join(to(), '20260103T000000Z', 'data'), { recursive: true });
    const { code, report } = await kept(to(), '--keep', '2');
    expect({ code, removed: report.removed, whole: report.whole }).toEqual({
      code: 0,
      removed: ['20260101T000000Z'],
      whole: 2,
    });
    const last = names().at(-2)!;
    expect(names()).toEqual(['20260102T000000Z', '20260103T000000Z', last, 'notes']);
    expect(report.to).toBe(join(to(), last));
    const restored = await kithdb('restore', '--from', report.to, '--data-dir', join(folder, 'restored'));
    expect(restored.code).toBe(0);
  });

  it('removes nothing for one of damaged data, and nothing is left of one that fails', async () => {
    server = await Served.on(dataDir);
    await server.create('points');
    // Two in one second get two names.
    expect((await kept(to(), '--keep', '2')).code).toBe(0);
    expect((await kept(to(), '--keep', '2')).code).toBe(0);
    expect(names()).toHaveLength(2);
    expect((await kept(to(), '--keep', '1')).report.removed).toHaveLength(2);
    age(to(), names()[0]!, '20260101T000000Z');
    await server.stop();
    // A store of authentication that is gone: the rest is saved.
    truncateSync(join(dataDir, 'auth.sqlite3'));
    const { code, report } = await kept(to(), '--keep', '1');
    expect({ code, removed: report.removed, whole: report.whole }).toEqual({
      code: 3,
      removed: [],
      whole: 1,
    });
    expect(names()).toEqual(['20260101T000000Z', expect.stringMatching(/^\d{8}T\d{6}Z\.damaged$/)]);

    const before = names();
    rmSync(dataDir, { recursive: true });
    expect((await kept(to(), '--keep', '1')).code).toBe(1);
    expect(names()).toEqual(before);
  });

  it.each([
    [['--to', 'x', '--keep', '0'], /--keep must be a whole number from 1/],
    [['--to', 'x', '--keep', 'all'], /--keep must be a whole number from 1/],
    [['--to', 's3://bucket/x'], /needs --keep N/],
    [['--to', 'x', '--keep', '1', '--work', 'y'], /--work is for --to s3:/],
    [['--to', 'x', '--s3-endpoint', 'http://x'], /--s3-endpoint is for --to s3:/],
    [['--to', 's3://bucket', '--keep', '1', '--base', 'x'], /--base is for folders/],
    [['--to', 's3://bucket', '--keep', '1', '--s3-endpoint', 'x'], /--s3-endpoint must be a URL/],
    [['restore', '--from', 'x', '--s3-endpoint', 'http://x'], /--s3-endpoint is for --from s3:/],
    [['restore', '--from', 's3://bucket', '--s3-endpoint', 'x'], /--s3-endpoint must be a URL/],
  ])('refuses %j', async (flags, message) => {
    const verb = flags[0] === 'restore' ? [] : ['backup'];
    expect(await kithdb(...verb, ...flags, '--data-dir', dataDir)).toMatchObject({
      code: 2,
      err: expect.stringMatching(message),
    });
  });
});

describe('the address of a bucket', () => {
  it('is read, or refused', () => {
    expect(parseS3('/var/backups')).toBeUndefined();
    expect(parseS3('s3://my-bucket')).toEqual({ bucket: 'my-bucket', prefix: '' });
    expect(parseS3('s3://my-bucket/a//b/')).toEqual({ bucket: 'my-bucket', prefix: 'a/b' });
    for (const text of ['s3://', 's3:///x', 's3://Bad_Name/x', 's3://my-bucket/../x']) {
      expect(() => parseS3(text)).toThrow(/must be s3:/);
    }
  });
});

itUnless(whyNoGateway())('C11.4 keeps backups in a bucket of an S3 interface, each read back', async () => {
  server = await Served.on(dataDir);
  await server.create('points');
  await server.upsert('points', 0, 1000);
  const endpoint = await startGateway(folder);
  const at = join(folder, 'buckets', 'my-bucket', 'db');
  const work = join(folder, 'work');
  mkdirSync(work);
  const run = () => kept('s3://my-bucket/db', '--keep', '1', '--s3-endpoint', endpoint, '--work', work);

  const first = await run();
  expect(first).toMatchObject({ code: 0, report: { removed: [], whole: 1 } });
  age(at, readdirSync(at)[0]!, '20260101T000000Z');
  expect(await run()).toMatchObject({ code: 0, report: { removed: ['20260101T000000Z'], whole: 1 } });
  const [name, ...others] = readdirSync(at).filter((entry) => existsSync(join(at, entry, 'BACKUP.json')));
  expect(others).toEqual([]);
  expect(readdirSync(work)).toEqual([]);
  // The layout is that of a folder.
  const restored = join(folder, 'restored');
  expect((await kithdb('restore', '--from', join(at, name!), '--data-dir', restored)).code).toBe(0);
  await server.stop();
  server = await Served.on(restored);
  expect(await server.points('points')).toHaveLength(1000);
  await server.stop();

  // And from the bucket itself.
  const fetched = join(folder, 'fetched');
  const restore = (from: string, ...more: string[]) => {
    const flags = ['--s3-endpoint', endpoint, '--work', work, '--data-dir', fetched, ...more];
    return kithdbWith(S3_ENV, 'restore', '--from', from, ...flags);
  };
  expect(await restore('s3://my-bucket/db')).toMatchObject({
    code: 1,
    out: '',
    // The SDK may warn of the version of Node.
    err: expect.stringContaining(
      `kithdb: s3://my-bucket/db holds 1 backups and is none itself: give --from s3://my-bucket/db/${name}, the newest whole one\n`,
    ),
  });
  expect(await restore('s3://my-bucket/nothing')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/s3:\/\/my-bucket\/nothing\/BACKUP\.json: NoSuchKey/),
  });
  const file = join(at, name!, 'data', 'auth.sqlite3');
  const whole = readFileSync(file);
  for (const damaged of [
    Buffer.concat([whole.subarray(0, -1), Buffer.from([1 ^ whole.at(-1)!])]),
    Buffer.concat([whole, whole]),
  ]) {
    writeFileSync(file, damaged);
    expect(await restore(`s3://my-bucket/db/${name}`)).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        // The SDK compares a checksum of its own where the server has one.
        /auth\.sqlite3.* (does not have its checksum|is longer than its manifest says|Checksum mismatch)/,
      ),
    });
    expect([existsSync(fetched), readdirSync(work)]).toEqual([false, []]);
  }
  writeFileSync(file, whole);
  const done = await restore(`s3://my-bucket/db/${name}`, '--json');
  expect(done.code).toBe(0);
  expect(JSON.parse(done.out)).toMatchObject({ dataDir: fetched, withoutAuth: false });
  expect(readdirSync(work)).toEqual([]);
  expect((await restore(`s3://my-bucket/db/${name}`)).err).toMatch(/fetched is not empty/);
  server = await Served.on(fetched);
  expect(await server.points('points')).toHaveLength(1000);

  await server.stop();
  dataDir = restored;
  expect(await kept('s3://other-bucket', '--keep', '1', '--s3-endpoint', endpoint)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/s3:\/\/other-bucket\/.*NoSuchBucket/),
  });
  expect(await kept('s3://my-bucket/db', '--keep', '1', '--s3-endpoint', 'http://127.0.0.1:1')).toMatchObject(
    {
      code: 1,
      err: expect.stringMatching(/ECONNREFUSED/),
    },
  );
});

itUnless(whyNoGateway())('a large file is sent to a bucket in parts', async () => {
  const endpoint = await startGateway(folder);
  Object.entries(S3_ENV).forEach(([name, value]) => (process.env[name] = value));
  const bucket = await S3Bucket.open('my-bucket', { endpoint, region: 'us-east-1' });
  const path = join(folder, 'large');
  writeFileSync(path, Buffer.alloc(40 * 1024 * 1024 + 17, 'abcdefg'));
  await bucket.put('large', path);
  expect(await bucket.digestOf('large')).toMatchObject({ bytes: 40 * 1024 * 1024 + 17 });
  expect(await bucket.list('')).toMatchObject([{ key: 'large', bytes: 40 * 1024 * 1024 + 17 }]);
  bucket.close();
});

describe('C11.4 a damaged manifest in a bucket', () => {
  const address = { bucket: 'my-bucket', prefix: 'db' };

  /** What reads of a bucket give; the manifest of each backup, which has no files. */
  function bucketOf(manifests: Readonly<Record<string, string>>): S3Bucket {
    const fake: Pick<S3Bucket, 'names' | 'list' | 'text' | 'uploads'> = {
      names: () => Promise.resolve(Object.keys(manifests)),
      uploads: () => Promise.resolve([]),
      list: (prefix) => Promise.resolve([{ key: `${prefix}BACKUP.json`, bytes: 1, modifiedMs: 0 }]),
      text: (key) => {
        const text = manifests[key.split('/')[1] ?? ''];
        return text === undefined ? Promise.reject(new Error('NoSuchKey')) : Promise.resolve(text);
      },
    };
    return fake as S3Bucket;
  }

  it.each([['{'], ['null'], ['[]'], ['{}'], ['{"kithdb_backup":1,"quarantined":[],"files":[null]}']])(
    'of %s counts as that of a damaged backup, and the newest whole one is named',
    async (damaged) => {
      await writeManifest(folder, { kithdb_version: '0', created_at: 'now', quarantined: [], files: [] });
      const whole = readFileSync(join(folder, 'BACKUP.json'), 'utf8');
      const bucket = bucketOf({ '20260101T000000Z': whole, '20260102T000000Z': damaged });
      const place = new BackupBucket(bucket, address, folder);
      expect((await place.entries()).map(({ name, state }) => [name, state])).toEqual([
        ['20260101T000000Z', 'whole'],
        ['20260102T000000Z', 'damaged'],
      ]);
      await expect(fetchBackup(bucket, address, folder)).rejects.toThrow(
        's3://my-bucket/db holds 2 backups and is none itself: give --from s3://my-bucket/db/20260101T000000Z, the newest whole one',
      );
    },
  );
});

describe('C11.4 a backup that is fetched from a bucket', () => {
  it('is compared with its manifest by itself, and nothing is left of one that differs', async () => {
    server = await Served.on(dataDir);
    await server.stop();
    const to = join(folder, 'backup');
    expect((await kithdb('backup', '--data-dir', dataDir, '--to', to)).code).toBe(0);
    const work = join(folder, 'work');
    mkdirSync(work);
    const address = { bucket: 'my-bucket', prefix: 'b' };
    // A server whose objects have no checksum that the SDK could compare.
    const bucket = (changed: string): S3Bucket => {
      const fake: Pick<S3Bucket, 'text' | 'fetch'> = {
        text: (key) => Promise.resolve(readFileSync(join(to, key.slice(2)), 'utf8')),
        fetch: (key, path) => {
          const text = readFileSync(join(to, key.slice(2)));
          writeFileSync(path, text);
          const sha256 = createHash('sha256')
            .update(text)
            .update(key.endsWith(changed) ? 'x' : '')
            .digest('hex');
          return Promise.resolve({ bytes: text.length, sha256 });
        },
      };
      return fake as S3Bucket;
    };
    await expect(fetchBackup(bucket('auth.sqlite3'), address, work)).rejects.toThrow(
      /s3:\/\/my-bucket\/b\/data\/auth\.sqlite3 does not have its checksum: this backup is damaged/,
    );
    expect(readdirSync(work)).toEqual([]);
    const fetched = await fetchBackup(bucket('nothing'), address, work);
    const restored = await kithdb(
      'restore',
      '--from',
      fetched.folder,
      '--data-dir',
      join(folder, 'restored'),
    );
    expect(restored.code).toBe(0);
    await fetched.remove();
    expect(readdirSync(work)).toEqual([]);
  });
});
