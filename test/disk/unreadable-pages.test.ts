import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { call, ok } from '../crash/requests';
import { ServerChild } from '../crash/server-child';
import { itUnless, type Missing } from '../missing';
import { until } from '../until';

const SIZE = 256;
/** With this many rows more than one chunk (4 MiB) is full and stays on its map. */
const POINTS = 12_000;
const BATCH = 1000;
/** Writing so many vectors takes long where others use the processors. */
const TIMEOUT_MS = 600_000;

const folder = mkdtempSync(join(tmpdir(), 'kithdb-pages-'));
const program = join(folder, 'failing-file');
/** While this file exists, reads of the mounted file fail. */
const mark = join(folder, 'fails');
let mounted: string[] = [];

/** Why no file can be served by a process; compiles the one that does. */
function whyNoFuse(): Missing {
  if (process.platform !== 'linux') return 'only Linux has FUSE';
  try {
    execFileSync('cc', ['-O1', '-o', program, join(__dirname, 'failing-file.c')], { stdio: 'pipe' });
  } catch {
    return 'no C compiler, or no headers of FUSE';
  }
  const file = join(folder, 'probe');
  writeFileSync(file, 'probe');
  // It ends when the file is unmounted.
  const probe =
    'umount "$1" 2>/dev/null; "$0" "$1" "$1" "$2" & for i in $(seq 2000); do umount "$1" && exit 0; sleep 0.05; done; exit 1';
  try {
    execFileSync('sh', ['-c', probe, program, file, mark], { stdio: 'pipe' });
    return undefined;
  } catch {
    return 'no /dev/fuse, or no right to mount';
  }
}

/** Puts a process between a file and whoever reads it. */
async function serve(file: string): Promise<{ readonly process: ChildProcess; said: () => string }> {
  const source = join(folder, 'source');
  copyFileSync(file, source);
  const child = spawn(program, [file, source, mark], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await until(() => said.includes('mounted'));
  mounted.push(file);
  return { process: child, said: () => said };
}

afterEach(async () => {
  rmSync(mark, { force: true });
  await ServerChild.killAll();
  mounted.forEach((file) => execFileSync('umount', ['-l', file]));
  mounted = [];
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const points = (first: number): object => ({
  points: Array.from({ length: BATCH }, (_, at) => ({
    id: first + at,
    vector: Array.from({ length: SIZE }, (_, dim) => ((first + at) * 31 + dim * 7) % 101),
  })),
});

itUnless(whyNoFuse())(
  'a page that the disk does not give is a fault of its collection, and the process lives',
  async () => {
    const dataDir = join(folder, 'data');
    let server = new ServerChild(dataDir);
    let url = await server.ready;
    for (const name of ['hit', 'spared']) {
      await ok(url, 'PUT', `/collections/${name}`, { vectors: { size: SIZE, distance: 'Euclid' } });
    }
    for (let first = 0; first < POINTS; first += BATCH) {
      await ok(url, 'PUT', '/collections/hit/points', points(first));
    }
    await ok(url, 'PUT', '/collections/spared/points', points(0));
    server.signal('SIGTERM');
    expect(await server.exit).toEqual({ code: 0, signal: null });

    const files = join(dataDir, 'collections', '0000000000000001');
    const [largest] = readdirSync(files)
      .filter((name) => name.endsWith('.data'))
      .map((name) => join(files, name))
      .sort((one, other) => statSync(other).size - statSync(one).size);
    if (largest === undefined) throw new Error('the stop has written no checkpoint');
    const reader = await serve(largest);
    server = new ServerChild(dataDir);
    url = await server.ready;
    const search = {
      vector: Array.from({ length: SIZE }, (_, dim) => dim % 5),
      limit: 3,
      params: { exact: true },
    };
    expect(await ok(url, 'POST', '/collections/hit/points/search', search)).toHaveLength(3);
    writeFileSync(mark, '');
    reader.process.kill('SIGUSR1');
    await until(() => reader.said().includes('forgotten'));
    for (const [method, path, body] of [
      ['POST', '/collections/hit/points/search', search],
      ['PUT', '/collections/hit/points', points(0)],
    ] as const) {
      const { status, error } = await call(url, method, path, body);
      expect([method, status, error]).toEqual([method, 500, expect.stringContaining('.data')]);
    }
    expect(await ok(url, 'POST', '/collections/spared/points/count', {})).toEqual({ count: BATCH });
    expect(await ok(url, 'POST', '/collections/spared/points/search', search)).toHaveLength(3);
    expect(await ok(url, 'PUT', '/collections/spared/points', points(BATCH))).toMatchObject({
      status: 'completed',
    });
    server.signal('SIGTERM');
    expect(await server.exit).toEqual({ code: 0, signal: null });

    // The disk gives the pages again: nothing is lost.
    rmSync(mark);
    server = new ServerChild(dataDir);
    url = await server.ready;
    expect(await ok(url, 'POST', '/collections/hit/points/search', search)).toHaveLength(3);
    expect(await ok(url, 'POST', '/collections/hit/points/count', {})).toEqual({ count: POINTS });
    server.signal('SIGTERM');
    expect(await server.exit).toEqual({ code: 0, signal: null });
    execFileSync('umount', [largest]);
    mounted = [];
    await until(() => reader.process.exitCode === 0);
  },
  TIMEOUT_MS,
);
