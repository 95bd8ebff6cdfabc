/** Servers of a node's directory that are killed: what they leave is removed by the next one. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerChild } from '../crash/server-child';
import { saveNode } from './saved-node';

describe('the copy of a server that serves a directory alone and is killed', () => {
  let folder: string;
  let temporary: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kithdb-alone-killed-'));
    temporary = join(folder, 'tmp');
    mkdirSync(temporary);
    await saveNode(join(folder, 'one'));
    cpSync(join(folder, 'one'), join(folder, 'other'), { recursive: true });
  });
  afterEach(async () => {
    await ServerChild.killAll();
    rmSync(folder, { recursive: true, force: true });
  });

  const serve = async (name: string): Promise<ServerChild> => {
    const env = { TMPDIR: temporary, KITHDB_CLUSTER_ALONE: 'true' };
    const server = new ServerChild(join(folder, name), { env });
    await server.ready;
    return server;
  };
  /** The folders of copies that have a store of authentication. */
  const copies = (): string[] =>
    readdirSync(temporary, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('auth.sqlite3'))
      .map((path) => path.split(/[/\\]/)[0] ?? '');

  it('C30.12 is removed by the next one, and that of a server that runs is not', async () => {
    const killed = await serve('one');
    const [left = ''] = copies();
    expect(left).not.toBe('');
    const running = await serve('other');
    expect(copies()).toHaveLength(2);
    const [used = ''] = copies().filter((name) => name !== left);
    killed.signal('SIGKILL');
    await killed.exit;
    expect(copies()).toContain(left);

    // What looks like a copy and is none stays.
    mkdirSync(join(temporary, 'kithdb-served-copy-of-mine'));
    const next = await serve('one');
    expect(copies()).not.toContain(left);
    expect(copies()).toContain(used);
    expect(copies()).toHaveLength(2);
    for (const server of [running, next]) {
      server.signal('SIGTERM');
      expect(await server.exit).toEqual({ code: 0, signal: null });
    }
    const remaining = readdirSync(temporary).filter((name) => name.startsWith('kithdb-served-copy-'));
    expect(remaining).toEqual(['kithdb-served-copy-of-mine']);
  });
});
