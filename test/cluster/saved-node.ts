/** The data directory of a node that has stopped, made without log servers: replicas, shard map and authentication. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '../../src/auth/store/open';
import { digestOf } from '../../src/auth/access-token';
import { KnownMap } from '../../src/cluster/streams/known-map';
import {
  EMPTY_MAP,
  type CollectionEntry,
  type ReplicaState,
  type ShardMapState,
} from '../../src/cluster/map/state';
import { openNativeEngine } from '../../src/engine';
import { executeJson } from '../../src/engine/json-call';
import { splitWrite } from '../../src/engine/sharding';
import type { Engine } from '../../src/engine/types';

export const NODE = '00000000-0000-4000-8000-000000000001';
export const OTHER = '00000000-0000-4000-8000-000000000002';
export const ADMIN_TOKEN = 'a-token-of-the-cluster-that-is-long-enough';

const CONFIGURATION = {
  vectors: { size: 2, distance: 'Dot' },
  sparse_vectors: { text: {} },
};
const SHARDS = 2;
export const POINTS = 40;

interface Placed {
  readonly id: number;
  readonly name: string;
  /** For each shard the state of the replica of this node; undefined where it has none. */
  readonly replicas: readonly (ReplicaState | undefined)[];
}

/** `birds` is here whole, `owls` in its first shard. */
const COLLECTIONS: readonly Placed[] = [
  { id: 1, name: 'birds', replicas: ['active', 'active'] },
  { id: 2, name: 'owls', replicas: ['active', undefined] },
  { id: 3, name: 'swans', replicas: ['active', 'inactive'] },
];

/** Makes the directory; its auth store is without a position where it never followed a cluster. */
export async function saveNode(dataDir: string): Promise<void> {
  mkdirSync(dataDir, { mode: 0o700 });
  writeFileSync(join(dataDir, 'cluster.json'), JSON.stringify({ format: 1, node: NODE, cluster: 'birds' }));
  const engine = openNativeEngine({ dataDir, searchThreads: 1, isReplica: true });
  await saveAuth(dataDir);
  await engine.open();
  for (const collection of COLLECTIONS) await fill(engine, collection);
  await engine.close();
  await (await KnownMap.open(dataDir)).note('2026-01-01T00:00:00Z', mapState());
}

async function fill(engine: Engine, { id, replicas }: Placed): Promise<void> {
  const points = Array.from({ length: POINTS }, (_, at) => ({
    id: at,
    vector: {
      '': [at, 1],
      text: { text: at % 2 === 0 ? 'a grey heron' : 'a mute swan', model: 'qdrant/bm25' },
    },
    payload: { n: at },
  }));
  const body = Buffer.from(JSON.stringify({ points }));
  const layout = {
    shards: SHARDS,
    stringIds: false,
    metrics: { '': 'Dot' as const },
    byteVectors: [],
    mayWeigh: false,
  };
  const parts = await splitWrite(
    { operation: 'upsert_points', collection: '', body, form: 'json', givesOutTexts: false },
    layout,
  );
  for (const [shard, state] of replicas.entries()) {
    if (state === undefined) continue;
    const collection = `c${id}-s${shard}`;
    await executeJson(engine, { operation: 'create_collection', collection }, CONFIGURATION);
    const json = JSON.parse(parts[shard]?.toString() ?? '{}') as object;
    await executeJson(engine, { operation: 'upsert_points', collection, position: 7 }, json);
  }
}

async function saveAuth(dataDir: string): Promise<void> {
  const store = await openStore(dataDir, undefined, { isOfCluster: true });
  const position = { stream: 'KITHDB_birds_auth', created: '2026', sequence: 1, operation: 'o' };
  const token = {
    ...{ name: 't', description: null, permission: 'read,write,admin', createdAt: 1, expiresAt: null },
    digest: digestOf(ADMIN_TOKEN),
  };
  await store.apply({ kind: 'put_initial_token', token }, position);
  await store.close();
}

function mapState(): ShardMapState {
  const collections = COLLECTIONS.map(({ id, name, replicas }): CollectionEntry => ({
    ...{ id, name, configuration: JSON.stringify(CONFIGURATION), shardNumber: SHARDS },
    ...{ replicationFactor: 2, writeConsistencyFactor: 1, group: 0, firstPosition: 0 },
    shards: replicas.map((state) => ({
      replicas: [{ node: OTHER, state: 'active' }, ...(state === undefined ? [] : [{ node: NODE, state }])],
    })),
  }));
  return {
    ...EMPTY_MAP,
    version: 9,
    nodes: new Map([NODE, OTHER].map((id) => [id, { id, address: '127.0.0.1:1', joined: 1 }])),
    collections: new Map(collections.map((entry) => [entry.id, entry])),
    names: new Map(collections.map(({ name, id }) => [name, id])),
    aliases: new Map([['herons', 1]]),
    nextCollectionId: 4,
    streams: new Map([[0, { epoch: 0, created: '2026', firstPosition: 0 }]]),
  };
}

/** Each file of a folder with its checksum, locks left out. */
export function contentOf(folder: string): Readonly<Record<string, string>> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return Object.fromEntries(
    files
      .filter((path) => path !== 'lock' && statSync(join(folder, path)).isFile())
      .map((path) => [
        path,
        createHash('sha256')
          .update(readFileSync(join(folder, path)))
          .digest('hex'),
      ]),
  );
}
