import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rotateBackups, stampOf } from '../../src/operations/backup-rotation';
import { BackupBucket } from '../../src/operations/backup-s3';
import { fetchBackup } from '../../src/operations/fetched-backup';
import { makeHeldFolder } from '../../src/operations/held-folder';
import { S3Bucket } from '../../src/operations/s3-bucket';
import { S3_ENV } from '../s3-gateway';
import { MemoryS3 } from './memory-s3';
import { Served } from './served';

const ADDRESS = { bucket: 'my-bucket', prefix: 'db' };

let folder: string;
let work: string;
let s3: MemoryS3;
let bucket: S3Bucket;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-s3-test-'));
  work = join(folder, 'work');
  mkdirSync(work);
  s3 = new MemoryS3();
  bucket = await S3Bucket.open(ADDRESS.bucket, { load: () => Promise.resolve(s3.sdk) });
});
afterEach(() => {
  bucket.close();
  rmSync(folder, { recursive: true });
});

/** A data directory at rest. */
async function dataDirAtRest(): Promise<string> {
  const dataDir = join(folder, 'data');
  const server = await Served.here(dataDir);
  await server.create('c');
  await server.upsert('c', 0, 10);
  await server.stop();
  return dataDir;
}

/** What a command that was killed leaves in the folder for its work. */
function leftBy(prefix: string): string {
  const name = `${prefix}${randomUUID()}`;
  mkdirSync(join(work, name, 'data'), { recursive: true });
  writeFileSync(join(work, name, 'lock'), '1');
  return name;
}

/** Runs `kithdb backup` to a server that answers no upload, and kills it in the first one. */
async function killedInUpload(dataDir: string): Promise<void> {
  let server: Server | undefined;
  const isUploading = new Promise<void>((resolve) => {
    server = createServer(({ method }, response) => {
      if (method === 'PUT') resolve();
      else response.writeHead(200, { 'content-type': 'application/xml' }).end('<ListBucketResult/>');
    }).listen(0, '127.0.0.1');
  });
  await new Promise((resolve) => server!.once('listening', resolve));
  const endpoint = `http://127.0.0.1:${(server!.address() as AddressInfo).port}`;
  const launcher = join(__dirname, '..', '..', 'bin', 'kithdb.js');
  const flags = ['--keep', '1', '--s3-endpoint', endpoint, '--work', work];
  const child = spawn(
    process.execPath,
    [launcher, 'backup', '--data-dir', dataDir, '--to', 's3://my-bucket/db', ...flags],
    { env: { PATH: process.env['PATH'], AWS_REGION: 'us-east-1', ...S3_ENV }, stdio: 'ignore' },
  );
  const exit = new Promise((resolve) => child.once('exit', resolve));
  await Promise.race([isUploading, exit]);
  child.kill('SIGKILL');
  await exit;
  server!.closeAllConnections();
  await new Promise((resolve) => server!.close(resolve));
}

describe('C11.4 what a killed backup or restore of a bucket has left', () => {
  it('is removed from the folder for its work by the next one, and what another one uses is not', async () => {
    const source = { dataDir: await dataDirAtRest(), tokenStore: undefined };
    const [used, other] = [await makeHeldFolder(work, 'kithdb-backup-'), leftBy('kithdb-other-')];
    const kept = [used.path.slice(work.length + 1), other];
    leftBy('kithdb-backup-');
    const place = new BackupBucket(bucket, ADDRESS, work);
    const made = await place.make('20260701T020000Z', source);
    expect(made.to).toBe('s3://my-bucket/db/20260701T020000Z');
    expect(readdirSync(work).sort()).toEqual(kept.sort());

    leftBy('kithdb-restore-');
    const address = { ...ADDRESS, prefix: 'db/20260701T020000Z' };
    const fetched = await fetchBackup(bucket, address, work);
    expect(readdirSync(fetched.folder).sort()).toEqual(['BACKUP.json', 'data']);
    await fetched.remove();
    expect(readdirSync(work).sort()).toEqual(kept);
    await used.remove();
  });

  it('is removed after a kill in the middle of an upload', async () => {
    const dataDir = await dataDirAtRest();
    await killedInUpload(dataDir);
    const [left, ...others] = readdirSync(work);
    expect([left, others]).toEqual([expect.stringMatching(/^kithdb-backup-/), []]);
    const place = new BackupBucket(bucket, ADDRESS, work);
    await place.make('20260701T020000Z', { dataDir, tokenStore: undefined });
    expect(readdirSync(work)).toEqual([]);
  });

  it('is removed from the bucket after seven days: parts of an upload too', async () => {
    const source = { dataDir: await dataDirAtRest(), tokenStore: undefined };
    const now = new Date('2026-07-20T02:00:00Z');
    const dayBefore = (days: number): string => stampOf(new Date(now.getTime() - days * 24 * 3600 * 1000));
    const key = (name: string): string => `db/${name}/data/log/0000000000000001.log`;
    const [old, young] = [dayBefore(8), dayBefore(6)];
    for (const name of [old, old, young, 'of-somebody-else']) s3.beginUpload(key(name));
    // Listings come in pages.
    s3.pageSize = 1;
    const place = new BackupBucket(bucket, ADDRESS, work);
    expect((await place.entries()).map(({ name, state }) => [name, state])).toEqual([
      [old, 'unfinished'],
      [young, 'unfinished'],
    ]);
    expect(await rotateBackups(place, source, 1, undefined, now)).toMatchObject({ removed: [old], whole: 1 });
    expect(s3.pendingKeys()).toEqual([key(young), key('of-somebody-else')].sort());
  });

  it('keeps no backup from being made where the server does not say it', async () => {
    const source = { dataDir: await dataDirAtRest(), tokenStore: undefined };
    s3.beginUpload('db/20260101T000000Z/data/auth.sqlite3');
    s3.refusesUploads = true;
    const place = new BackupBucket(bucket, ADDRESS, work);
    expect(await rotateBackups(place, source, 1)).toMatchObject({ removed: [], whole: 1 });
  });

  it('goes on where uploads may be listed and not ended', async () => {
    const source = { dataDir: await dataDirAtRest(), tokenStore: undefined };
    s3.beginUpload('db/20260101T000000Z/data/auth.sqlite3');
    s3.refusesAborts = true;
    const place = new BackupBucket(bucket, ADDRESS, work);
    expect(await rotateBackups(place, source, 1)).toMatchObject({ whole: 1 });
  });
});
