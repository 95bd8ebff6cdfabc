import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import * as host from '../../src/cluster-host';
import { EngineError } from '../../src/engine/types';
import { loadCluster } from '../../src/startup/cluster';
import { productVersion } from '../../src/system/version';

const SRC = join(__dirname, '..', '..', 'src');
const CLUSTER = join(SRC, 'cluster');
const IMPORT = /^(?:import|export) (?!type\b)(?:\{([^}]*)\}|[^'{]+) from '(\.[^']+)';$/gms;

/** The values that the sources of the cluster import of other sources, each with where. */
function sharedNames(): readonly (readonly [string, string])[] {
  const files = readdirSync(CLUSTER, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  return files.flatMap((file) => {
    const path = join(CLUSTER, file);
    return [...readFileSync(path, 'utf8').matchAll(IMPORT)]
      .filter(([, , from = '']) => relative(CLUSTER, resolve(dirname(path), from)).startsWith('..'))
      .flatMap(([, names = '']) => names.split(','))
      .map((name) => name.trim())
      .filter((name) => name !== '' && !name.startsWith('type '))
      .map((name) => [name.split(' as ')[0] ?? '', relative(SRC, path)] as const);
  });
}

it('src/cluster-host.ts has all values that the package takes of kithdb, and no others', () => {
  const taken = sharedNames();
  expect(taken.length).toBeGreaterThan(20);
  expect(taken.filter(([name]) => !(name in host))).toEqual([]);
  const names = new Set(taken.map(([name]) => name));
  expect(Object.keys(host).filter((name) => !names.has(name))).toEqual([]);
});

describe('the package @kithdb/cluster', () => {
  const absent = (name: string): never => {
    throw Object.assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' });
  };
  const installed = (version: string, errors: object) => (name: string) =>
    name.endsWith('/package.json') ? { version } : { EngineError: errors, openClusterEngine: absent };

  it('comes from the sources in a clone, else from what is installed', async () => {
    expect((await loadCluster(absent)).EngineError).toBe(EngineError);
    const { openClusterEngine } = await loadCluster(installed(productVersion(), EngineError));
    expect(openClusterEngine).toBe(absent);
  });

  it('is refused in another version, and where it has found another kithdb', async () => {
    await expect(loadCluster(installed('0.0.1', EngineError))).rejects.toThrow(
      /@kithdb\/cluster has version 0\.0\.1, and kithdb .* needs its own: .*npm install/,
    );
    await expect(loadCluster(installed(productVersion(), class extends Error {}))).rejects.toThrow(
      /found another installation of kithdb/,
    );
  });

  it('says how to install it', async () => {
    const fromSources = (): Promise<never> => Promise.resolve().then(() => absent('@nats-io/transport-node'));
    await expect(loadCluster(absent, fromSources)).rejects.toThrow(
      /^A cluster needs the package @kithdb\/cluster: npm run pack in a clone .*kithdb-cluster-/,
    );
  });
});
