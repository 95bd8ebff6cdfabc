import type { Logger } from 'pino';
import type { Engine, Operation } from '../../engine/types';
import type { Divergence } from '../divergence/divergence';
import { LaterVersionError } from '../map/event';
import type { ShardMap } from '../map/shard-map';
import type { PeerAddress } from '../peers/client';
import { PeerRefusal } from '../peers/errors';
import type { PeerHandlers, ReplicaRead } from '../peers/handlers';
import { listenForPeers, type PeerListener } from '../peers/listener';
import { READS } from '../peers/read-headers';
import type { PeerSecurity } from '../peers/security';
import { shardOfName } from '../shards';
import type { LocalReplicas } from './local-replicas';
import { reached } from './reached';

/** What other nodes are answered from. */
export interface ServedReplicas {
  readonly engine: Engine;
  readonly map: ShardMap;
  readonly replicas: LocalReplicas;
  readonly divergence: Divergence;
  readonly log: Logger;
}

/** What nodes execute for one another. */
const OPERATIONS: ReadonlySet<Operation> = new Set<Operation>([
  ...READS,
  ...(['flush', 'optimize', 'rebuild_index'] as const),
]);

/** Answers other nodes about the replicas of this one. */
export function serveReplicas(
  served: ServedReplicas,
  listen: PeerAddress,
  security: PeerSecurity,
): Promise<PeerListener> {
  const { engine, replicas, divergence, log } = served;
  const handlers: PeerHandlers = {
    engine,
    admit: (read, signal) => admit(read, served, signal),
    positions: () =>
      Promise.resolve(replicas.all().map(({ name, position }) => ({ collection: name, position }))),
    digest: ({ collection, position }) => {
      const own = divergence.own(collection, position);
      return own === undefined ? Promise.reject(new PeerRefusal('behind')) : Promise.resolve(own);
    },
  };
  return listenForPeers({ ...listen, security, handlers, log, operations: OPERATIONS });
}

/** Whether a read of another node may run: this node has the replica, and it is where the read needs it. */
async function admit(
  { collection, position = 0, mapVersion }: ReplicaRead,
  { map, replicas }: Pick<ServedReplicas, 'map' | 'replicas'>,
  signal: AbortSignal,
): Promise<number> {
  const shard = shardOfName(collection);
  if (map.failure instanceof LaterVersionError) throw new PeerRefusal('closing');
  if (mapVersion > map.state.version) await map.waitFor(mapVersion, signal);
  const at = await reached(() => shard && replicas.current(shard), position, signal);
  if (at === undefined) throw new PeerRefusal('map_version', map.state.version);
  return at;
}
