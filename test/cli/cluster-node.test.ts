/** Commands of an operator in the data directory of a node of a cluster, while it runs and while it is stopped. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer, type TemporaryServer } from '../../src/temporary-server';
import { isNoNats, NatsServers } from '../cluster/nats-server';
import { describeUnless } from '../missing';
import { PASSWORD } from '../operations/guarded';
import { runCommand, type Outcome } from './run-command';

describeUnless(isNoNats)('in the directory of a node', () => {
  let folder: string;
  let servers: NatsServers;
  const dirs = (): { first: string; second: string; fresh: string } => ({
    first: join(folder, 'first'),
    second: join(folder, 'second'),
    fresh: join(folder, 'fresh'),
  });

  function node(dataDir: string): Promise<TemporaryServer> {
    return startServer({ dataDir, settings: servers.nodeSettings('birds') });
  }

  const MADE_ANEW = /empty the folder and start it again: its replicas are made anew/;
  const OF_CLUSTER = expect.objectContaining({
    state: 'problem',
    what: expect.stringContaining('belongs to a node of the cluster birds'),
    advice: expect.stringContaining('--cluster'),
  });

  /** What `kithdb doctor` says of the cluster. */
  async function doctor(): Promise<unknown> {
    const { out } = await command('doctor', '--json');
    return (JSON.parse(out) as { readonly check: string }[]).find(({ check }) => check === 'cluster');
  }

  /** A command without the settings of the node, but for its directory. */
  function command(...words: string[]): Promise<Outcome> {
    const env = { KITHDB_ADMIN_PASSWORD: PASSWORD };
    return runCommand([...words, '--data-dir', dirs().first], env);
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kithdb-node-commands-'));
    servers = await NatsServers.start(1);
  });
  afterAll(async () => {
    await servers.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('C30.10 each command works while the node runs, or says what to do', async () => {
    const nodes = [await node(dirs().first), await node(dirs().second)];
    try {
      expect(await command('admin', 'create')).toMatchObject({ code: 0 });
      const made = await command('token', 'create', '--name', 'reader', '--permission', 'read');
      expect(made).toMatchObject({ code: 0 });
      // At the other node too.
      const headers = { authorization: `Bearer ${made.out.trim()}` };
      expect((await fetch(`${nodes[1]?.url}/collections`, { headers })).status).toBe(200);
      expect(await command('token', 'list')).toMatchObject({
        code: 0,
        out: expect.stringContaining('reader'),
      });
      for (const words of ['admin reset-password', 'admin rotate-secret', 'token rotate --id 1']) {
        expect([words, await command(...words.split(' '))]).toMatchObject([words, { code: 0 }]);
      }
      for (const words of ['check', 'admin repair']) {
        const { code, err } = await command(...words.split(' '));
        expect([words, code === 0, err]).toEqual([
          words,
          false,
          expect.stringMatching(/in use by process \d+: stop it first/),
        ]);
      }
      expect(await command('repair')).toMatchObject({ code: 1, err: expect.stringMatching(MADE_ANEW) });
      expect(await doctor()).toEqual(OF_CLUSTER);
    } finally {
      await Promise.all(nodes.map((one) => one.stop()));
    }
  });

  it('C30.10 each command works while the node is stopped, or says what to do', async () => {
    for (const words of [
      ...['admin create', 'admin reset-password', 'admin rotate-secret'],
      ...[
        'token list',
        'token create --name a --permission read',
        'token rotate --id 1',
        'token delete --id 1',
      ],
    ]) {
      expect([words, await command(...words.split(' '))]).toEqual([
        words,
        {
          code: 1,
          out: '',
          err: expect.stringMatching(/start this node and try again, or ask another node over HTTP/),
        },
      ]);
    }
    expect(await command('check')).toMatchObject({ code: 0, out: expect.stringContaining('sound') });
    expect(await command('admin', 'repair')).toMatchObject({ code: 0, out: 'Nothing to repair.\n' });
    expect(await command('repair')).toMatchObject({ code: 1, err: expect.stringMatching(MADE_ANEW) });
    expect(await command('serve', '--port', '0')).toMatchObject({
      code: 1,
      err: expect.stringContaining('start it with --cluster'),
    });
    expect(await doctor()).toEqual(OF_CLUSTER);
    writeFileSync(join(dirs().first, 'catalog', 'CATALOG'), 'damaged');
    const { code, out } = await command('check');
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(/note: cluster\.json: .*a node of the cluster birds.*empty the/),
    ]);
    cpSync(join(dirs().first, 'collections', 'CATALOG'), join(dirs().first, 'catalog', 'CATALOG'));
  });

  it('C30.8 what only a node knows of authentication is given to a new stream, and not begun anew', async () => {
    await servers.withStreams((streams) => streams.delete('KITHDB_birds_auth'));
    const refusal =
      /KITHDB_birds_auth is empty, and the cluster has nodes: .*kithdb admin repair --older-store/;
    await expect(node(dirs().fresh)).rejects.toThrow(refusal);
    await expect(node(dirs().second)).rejects.toThrow(/KITHDB_birds_auth was lost: .*--older-store/);
    expect(await command('admin', 'repair', '--older-store')).toMatchObject({
      code: 0,
      out: expect.stringContaining('the node gives its cluster what it has'),
    });
    const nodes: TemporaryServer[] = [];
    try {
      for (const dataDir of [dirs().first, dirs().second, dirs().fresh]) nodes.push(await node(dataDir));
      for (const { url } of nodes) {
        const login = await fetch(`${url}/auth/admin/login`, {
          ...{ method: 'POST', body: JSON.stringify({ password: PASSWORD }) },
          headers: { 'content-type': 'application/json' },
        });
        expect(login.status).toBe(200);
      }
    } finally {
      await Promise.all(nodes.map((one) => one.stop()));
    }
  });
});
