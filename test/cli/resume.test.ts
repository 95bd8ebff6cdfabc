import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContractServer } from '../contract/contract-server';
import { runCommand, type Outcome } from './run-command';

/** What `kithdb import` notes while it runs, and where `--resume` goes on or refuses to (C11.4). */
describe('an import that was interrupted', () => {
  let server: ContractServer;
  let folder: string;
  let proxy: Server;
  /** The proxy answers writes of the point with this id by an error. */
  let stopAt: number | undefined;
  let made = 0;

  beforeAll(async () => {
    server = await ContractServer.start();
    folder = mkdtempSync(join(tmpdir(), 'kithdb-resume-'));
    proxy = createServer((request, response) => {
      void (async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
        if (stopAt !== undefined && Buffer.concat(chunks).includes(`"id":${stopAt},`)) {
          response.writeHead(500, { 'content-type': 'application/json' });
          response.end('{"status":{"error":"interrupted"},"time":0}');
          return;
        }
        const { method = '', url = '', headers } = request;
        const answer = await fetch(`http://127.0.0.1:${server.port}${url}`, {
          method,
          headers: { 'content-type': headers['content-type'] ?? 'application/json' },
          ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
        });
        response.writeHead(answer.status, { 'content-type': 'application/json' });
        response.end(await answer.text());
      })();
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  const url = (): string => `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;

  /** A file of 1,200 points, some of which are refused, in a name of its own. */
  function points(bad: readonly number[] = []): { readonly path: string; readonly name: string } {
    made += 1;
    const name = `resumed-${made}`;
    const path = join(folder, `${name}.jsonl`);
    const line = (id: number): string => `{"id":${id},"vector":[${id},${bad.includes(id) ? '1,1' : '1'}]}\n`;
    writeFileSync(path, Array.from({ length: 1200 }, (_, id) => line(id)).join(''));
    return { path, name };
  }

  function imports(path: string, name: string, ...flags: string[]): Promise<Outcome> {
    const to = flags.includes('--data-dir') || flags.includes('--url') ? [] : ['--url', url()];
    const all = ['--file', path, '--collection', name, '--distance', 'Dot', '--parallel', '1'];
    return runCommand(['import', ...all, ...to, ...flags]);
  }

  const state = (path: string): string => `${path}.kithdb-import`;

  /** An import that stored 500 points, and may have stored more. */
  async function interrupted(bad: readonly number[], at: number, ...flags: string[]) {
    const { path, name } = points(bad);
    stopAt = at;
    const { code, err } = await imports(path, name, ...flags);
    expect([code, err]).toEqual([1, expect.stringContaining('the same command with --resume goes on')]);
    stopAt = undefined;
    // The state is not written after each request.
    const noted = JSON.parse(readFileSync(state(path), 'utf8')) as object;
    const rejected = bad.filter((id) => id < 500).length;
    writeFileSync(state(path), JSON.stringify({ ...noted, next: 500, rejected }));
    return { path, name };
  }

  it('C11.4 goes on only into the same target and collection, with the same format and columns', async () => {
    const { path, name } = await interrupted([], 700);
    const other = async (flags: readonly string[], reason: string, into = name): Promise<void> => {
      const { code, err } = await imports(path, into, '--resume', ...flags);
      expect([code, err]).toEqual([1, expect.stringContaining(`is of another import: ${reason}`)]);
      expect(err).toContain('Import the file without --resume');
    };
    await other(['--url', `http://127.0.0.1:${server.port}`], `the target was ${url()}/, not http://`);
    await other(
      ['--data-dir', join(folder, 'data')],
      `the target was ${url()}/, not ${join(folder, 'data')}`,
    );
    expect(existsSync(join(folder, 'data'))).toBe(false);
    await other([], `the collection was ${name}, not elsewhere`, 'elsewhere');
    await other(['--format', 'csv'], 'the format was jsonl, not csv');
    await other(['--vector', 'vector'], 'the columns were others');
    // The collection is another one: made again, or gone.
    await server.ok('DELETE', `/collections/${name}`);
    const gone = await imports(path, name, '--resume');
    expect([gone.code, gone.err]).toEqual([1, expect.stringContaining(`into ${name}, which is not there`)]);
    await server.collection(name);
    const empty = await imports(path, name, '--resume');
    expect([empty.code, empty.err]).toEqual([1, expect.stringContaining('which has no points')]);
    expect(await imports(path, name)).toMatchObject({ code: 0, err: '' });
    const { count } = await server.ok('POST', `/collections/${name}/points/count`, { exact: true });
    expect(count).toBe(1200);
    expect(existsSync(state(path))).toBe(false);
  });

  it('a data directory is the one behind its links', async () => {
    const { path, name } = points([1100]);
    const [first, second, link] = ['first', 'second', 'link'].map((one) => join(folder, one));
    for (const one of [first, second]) mkdirSync(one ?? '');
    symlinkSync(first ?? '', link ?? '');
    expect(await imports(path, name, '--data-dir', link ?? '')).toMatchObject({ code: 1 });
    rmSync(link ?? '');
    symlinkSync(second ?? '', link ?? '');
    const moved = await imports(path, name, '--resume', '--data-dir', link ?? '');
    expect([moved.code, moved.err]).toEqual([1, expect.stringContaining(`the target was ${first}, not`)]);
    const rejects = ['--rejects', join(folder, 'linked-rejects.jsonl')];
    const rest = await imports(path, name, '--resume', '--data-dir', first ?? '', ...rejects, '--json');
    expect(JSON.parse(rest.out)).toMatchObject({ points: 699, rejected: 1 });
  });

  it('an import without --resume forgets it, and one with a file that has changed is refused', async () => {
    const { path, name } = await interrupted([], 700);
    appendFileSync(path, '{"id":1200,"vector":[1,1]}\n');
    const changed = await imports(path, name, '--resume');
    expect([changed.code, changed.err]).toEqual([1, expect.stringContaining('the file has changed since')]);
    expect(existsSync(state(path))).toBe(true);
    stopAt = 0;
    expect((await imports(path, name)).code).toBe(1);
    stopAt = undefined;
    expect(existsSync(state(path))).toBe(false);
    writeFileSync(state(path), '500\nof an earlier release\n');
    expect((await imports(path, name, '--resume')).err).toContain('is not the state of an import');
  });

  it('the file of --rejects keeps what it has, each row once, and the count and the exit code are those of all', async () => {
    const rejects = join(folder, 'kept.jsonl');
    const { path, name } = await interrupted([10, 700], 1100, '--rejects', rejects);
    const places = (): string[] =>
      readFileSync(rejects, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { place: string }).place);
    expect(places()).toEqual(['line 11', 'line 701']);
    appendFileSync(rejects, '{"place":"line 900","rea');
    const rest = await imports(path, name, '--resume', '--rejects', rejects, '--json');
    expect([rest.code, JSON.parse(rest.out)]).toEqual([
      3,
      expect.objectContaining({ points: 699, rejected: 2 }),
    ]);
    expect(places()).toEqual(['line 11', 'line 701']);
    // One from the start empties it.
    expect((await imports(points().path, name, '--rejects', rejects)).code).toBe(0);
    expect(readFileSync(rejects, 'utf8')).toBe('');
  });

  it('a last line of --rejects that lacks only its end is kept', async () => {
    const rejects = join(folder, 'endless.jsonl');
    const { path, name } = await interrupted([10, 700], 1100, '--rejects', rejects);
    const before = readFileSync(rejects, 'utf8');
    writeFileSync(rejects, before.trimEnd());
    expect((await imports(path, name, '--resume', '--rejects', rejects)).code).toBe(3);
    expect(readFileSync(rejects, 'utf8').startsWith(before)).toBe(true);
  });

  it('a file of --rejects that cannot be written is an error, before the first row where that is known', async () => {
    const { path, name } = points([600]);
    const nowhere = await imports(path, name, '--rejects', join(folder, 'none', 'rejects.jsonl'));
    const reason = 'there is no such file or folder (ENOENT)';
    expect([nowhere.code, nowhere.err]).toEqual([
      1,
      `kithdb: ${join(folder, 'none', 'rejects.jsonl')}: ${reason}\n`,
    ]);
    expect((await server.call('GET', `/collections/${name}`)).status).toBe(404);
    if (!existsSync('/dev/full')) return;
    const full = await imports(path, name, '--rejects', '/dev/full');
    expect([full.code, full.err]).toEqual([
      1,
      expect.stringMatching(/--resume goes on\nkithdb: \/dev\/full: its disk is full \(ENOSPC\)\n$/),
    ]);
    const rest = await imports(path, name, '--resume', '--rejects', join(folder, 'room.jsonl'), '--json');
    expect([rest.code, JSON.parse(rest.out)]).toEqual([
      3,
      expect.objectContaining({ points: 699, rejected: 1 }),
    ]);
  });
});
