import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LAST_BACKUP_FILE, LastBackup } from '../../src/operations/last-backup';
import { until } from '../until';
import { kithdb } from './command';
import { Served } from './served';

let folder: string;
let dataDir: string;
let server: Served | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-last-backup-'));
  dataDir = join(folder, 'data');
});
afterEach(async () => {
  await server?.kill();
  server = undefined;
  rmSync(folder, { recursive: true });
});

async function serve(): Promise<Served> {
  server = await Served.on(dataDir);
  return server;
}

/** A folder with a collection of which a checkpoint was written. */
async function atRest(): Promise<void> {
  const filled = await serve();
  await filled.create('c');
  await filled.upsert('c', 0, 50);
  await filled.stop();
  server = undefined;
}

/** What the server says in its metrics. */
async function noted({ url }: Served): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^kithdb_last_backup_timestamp_seconds (\S+)$/m.exec(text)?.[1]);
}

function backup(to: string, ...more: string[]): ReturnType<typeof kithdb> {
  return kithdb('backup', '--data-dir', dataDir, '--to', join(folder, to), ...more);
}

const path = (): string => join(dataDir, LAST_BACKUP_FILE);

describe('C11.4 the time of the last backup', () => {
  it('is noted by a running server, and is there after its restart', async () => {
    const running = await serve();
    await running.create('c');
    expect(await noted(running)).toBe(0);
    const before = Date.now() / 1000;
    expect(await backup('b')).toMatchObject({ code: 0, err: '' });
    await until(async () => (await noted(running)) > 0);
    const at = await noted(running);
    expect(at).toBeGreaterThanOrEqual(before - 0.001);
    await running.kill();
    expect(await noted(await serve())).toBe(at);
    // It is about this folder, and no part of what is restored into another.
    const restored = join(folder, 'restored');
    expect(await kithdb('restore', '--from', join(folder, 'b'), '--data-dir', restored)).toMatchObject({
      code: 0,
    });
    expect(readdirSync(restored)).not.toContain(LAST_BACKUP_FILE);
  });

  it('is noted in a folder at rest, and by a rotation', async () => {
    await atRest();
    expect(await backup('b')).toMatchObject({ code: 0, err: '' });
    const first = new LastBackup(dataDir);
    await first.read();
    const running = await serve();
    expect(await noted(running)).toBe(first.finishedAt);
    expect(await backup('many', '--keep', '2')).toMatchObject({ code: 0, err: '' });
    await until(async () => (await noted(running)) > (first.finishedAt ?? 0));
  });

  it('is not that of a backup of damaged data', async () => {
    await atRest();
    const files = readdirSync(dataDir, { recursive: true }) as string[];
    const data = files.filter((name) => name.endsWith('.data')).map((name) => join(dataDir, name));
    for (const name of data) {
      const bytes = readFileSync(name);
      bytes[bytes.length >> 1]! ^= 1;
      writeFileSync(name, bytes);
    }
    expect(data).not.toEqual([]);
    const { code, err } = await backup('b');
    expect([code, err]).toEqual([3, expect.stringContaining('is damaged')]);
    expect(existsSync(path())).toBe(false);
  });

  it('cannot be noted, and the backup is made all the same', async () => {
    await atRest();
    mkdirSync(`${path()}.tmp`);
    const { code, out, err } = await backup('b');
    expect([code, out]).toEqual([0, expect.stringContaining('Backup of the data directory at rest')]);
    expect(err).toMatch(/the backup is made; its time could not be noted in .*last-backup\.tmp/);
    const running = await serve();
    const live = await backup('b2');
    expect([live.code, live.err]).toEqual([0, expect.stringContaining('could not be noted')]);
    expect(await noted(running)).toBe(0);
  });

  it('is none where the file is damaged', async () => {
    await atRest();
    for (const text of ['', '{', 'null', '{"finished_at": 7}', '{"finished_at": "yesterday"}']) {
      writeFileSync(path(), text);
      const last = new LastBackup(dataDir);
      await last.read();
      expect([text, last.finishedAt]).toEqual([text, undefined]);
    }
  });
});
