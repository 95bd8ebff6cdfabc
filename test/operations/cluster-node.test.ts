import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, readFlags } from '../../src/config';
import { checkCluster } from '../../src/doctor/service';
import { open } from '../../src';
import { makeBackup } from '../../src/operations/backup';
import { repairDataDir } from '../../src/operations/repair';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-node-directory-'));
  for (const name of ['log', 'catalog']) mkdirSync(join(folder, name));
  const node = '00000000-0000-4000-8000-000000000000';
  writeFileSync(join(folder, 'cluster.json'), JSON.stringify({ format: 1, node, cluster: 'birds' }));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('the directory of a node of a cluster', () => {
  it('C30.10 is not repaired, copied as a backup, or opened by a program that may write', async () => {
    await expect(repairDataDir(folder, true)).rejects.toThrow(/cluster birds: a repair would make it differ/);
    await expect(
      makeBackup({ dataDir: folder, to: `${folder}-backup`, tokenStore: 'memory' }),
    ).rejects.toThrow(/cluster birds: a copy of one node is no state of the cluster/);
    await expect(open(folder)).rejects.toThrow(/cluster birds: ask a node of it by its URL/);
  });
});

it('kithdb doctor looks at what a node needs', async () => {
  const config = (url: string) =>
    loadConfig({ commandLine: readFlags(['--cluster', url]), env: {}, terminal: false });
  expect(await checkCluster(config('nats://127.0.0.1:4222'))).toMatchObject([{ state: 'ok' }]);
  expect(await checkCluster(config('nats://log.example:4222'))).toMatchObject([
    { check: 'cluster', state: 'advice', advice: expect.stringContaining('nobody else') },
  ]);
  expect(await checkCluster({ cluster: undefined, dataDir: join(folder, 'none') })).toEqual([]);
  expect(await checkCluster({ cluster: undefined, dataDir: folder })).toMatchObject([
    {
      check: 'cluster',
      state: 'problem',
      what: expect.stringContaining('belongs to a node of the cluster birds'),
    },
  ]);
});
