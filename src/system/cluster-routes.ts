import { EngineError, type ClusterControl, type Engine } from '../engine/types';
import { badRequest } from '../http/errors';
import { COLLECTION_PARAMETER, type ServiceRoute } from '../http/route-table';
import { readJson } from '../http/service-body';
import type { ServiceAnswer, ServiceCall } from '../http/service-route';

const MAX_BYTES = 64 * 1024;
const failed = 'Cluster operation failed';
/** What Qdrant has an operator do, and a cluster of KithDB does by itself. */
const AUTOMATIC: ReadonlySet<string> = new Set([
  'move_shard',
  'replicate_shard',
  'abort_transfer',
  'restart_transfer',
  'create_sharding_key',
  'drop_sharding_key',
  'start_resharding',
  'abort_resharding',
  'replicate_points',
]);

/** What an operator does to a cluster (docs/cluster.md, _Operators_). */
export const clusterRoutes: readonly ServiceRoute[] = [
  {
    ...{ kind: 'service', method: 'DELETE', path: '/cluster/peer/:peer_id', permission: 'write' },
    ...{ failed, isAudited: true, serve: removePeer },
  },
  {
    ...{ kind: 'service', method: 'POST', path: `/collections/:${COLLECTION_PARAMETER}/cluster` },
    ...{ permission: 'write', failed, isAudited: true, serve: changeShards },
  },
];

async function removePeer({ engine, params }: ServiceCall): Promise<ServiceAnswer> {
  const peer = peerIn(params['peer_id'], 'peer_id');
  await controlOf(engine).removePeer(peer);
  return { result: true };
}

async function changeShards(call: ServiceCall): Promise<ServiceAnswer> {
  const read = await readJson(call, MAX_BYTES);
  if ('failure' in read) return read;
  const change = changeIn(read.value);
  if (typeof change === 'string') return { failure: badRequest(change) };
  await controlOf(call.engine).dropReplica(
    call.params[COLLECTION_PARAMETER] ?? '',
    change.shard,
    change.peer,
  );
  return { result: true };
}

function controlOf({ cluster }: Engine): ClusterControl {
  if (cluster === undefined) {
    throw new EngineError('bad_request', { message: 'this server is no node of a cluster' });
  }
  return cluster;
}

/** The replica to drop, or what is wrong with the body. */
function changeIn(body: unknown): { readonly shard: number; readonly peer: number } | string {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return 'body: expected an object';
  const [name, ...others] = Object.keys(body);
  if (name === undefined || others.length > 0) return 'body: expected one operation, such as drop_replica';
  if (AUTOMATIC.has(name)) return `${name}: a cluster places its shards by itself`;
  if (name !== 'drop_replica') return `${name}: unknown operation, expected drop_replica`;
  const place = (body as { readonly drop_replica: unknown }).drop_replica;
  if (typeof place !== 'object' || place === null) return 'drop_replica: expected an object';
  const { shard_id: shard, peer_id: peer } = place as Readonly<Record<string, unknown>>;
  if (!isWhole(shard)) return 'drop_replica.shard_id: expected a whole number from 0';
  if (!isWhole(peer)) return 'drop_replica.peer_id: expected the number of a peer';
  return { shard, peer };
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function peerIn(text: string | undefined, place: string): number {
  const peer = Number(text);
  if (text === undefined || !/^\d{1,16}$/.test(text) || !isWhole(peer)) {
    throw new EngineError('bad_request', { message: `${place}: expected the number of a peer` });
  }
  return peer;
}
