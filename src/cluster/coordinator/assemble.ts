import { hostAndPort } from '../../config/cluster-settings';
import type { Engine, EngineOptions, TextModels } from '../../engine/types';
import type { Divergence } from '../divergence/divergence';
import type { LogService } from '../log/record-log';
import type { ProposableMap } from '../map/shard-map';
import { nodeIds } from '../map/state';
import type { Members } from '../membership/members';
import { knownBy } from '../membership/news';
import type { PeerAddress, PeerClient } from '../peers/client';
import { Hedging } from '../peers/hedging';
import type { LocalReplicas } from '../replica/local-replicas';
import { reached, requirePosition } from '../replica/reached';
import { bodyOf } from '../engine-body';
import { shardOfName } from '../shards';
import type { Acknowledgements } from './acknowledgements';
import { Collections } from './collections';
import { Coordinator } from './coordinator';
import { Operator } from './operator';
import { Reads } from './reads';
import type { KnownPositions } from './reports';

/** The parts of a node that its coordinator is made of. */
export interface CoordinatedNode {
  /** The id of the node. */
  readonly node: string;
  readonly engine: Engine;
  readonly logs: LogService;
  readonly map: ProposableMap;
  readonly members: Pick<Members, 'self' | 'isLive' | 'heartbeatOf'> & KnownPositions;
  readonly replicas: Pick<LocalReplicas, 'current'>;
  readonly divergence: Pick<Divergence, 'refusalOf'>;
  readonly peers: Pick<PeerClient, 'execute'>;
  readonly acknowledgements: Acknowledgements;
  /** The limits of the server that differ from their defaults. */
  readonly limits?: EngineOptions['limits'];
  readonly models: TextModels | undefined;
  /** Whether there are no other nodes, and replicas follow no stream; false where absent. */
  readonly isAlone?: boolean;
}

/** The coordinator of a node. */
export function coordinatorOf(parts: CoordinatedNode): Coordinator {
  const { node, engine, logs, map, members, replicas, divergence, peers, acknowledgements } = parts;
  const { isAlone = false } = parts;
  const liveNodes = (): readonly string[] => nodeIds(map.state).filter((id) => members.isLive(id));
  const addressOf = (id: string): PeerAddress | undefined =>
    members.isLive(id) ? hostAndPort(map.state.nodes.get(id)?.address ?? '') : undefined;
  const loadOf = (id: string): number => members.heartbeatOf(id)?.underWay ?? 0;
  const reads = new Reads({
    ...{ node, engine, peers, addressOf, hedging: new Hedging({ loadOf }) },
    local: (shard) => replicas.current(shard),
    mapVersion: () => map.state.version,
    isAlone,
    reached: isAlone ? requirePosition : reached,
  });
  const collections = new Collections({
    ...{ map, logs, liveNodes },
    known: (version, signal) => knownBy(liveNodes, members, version, signal),
    check: async (name, configuration) => {
      // The engine of a node has replicas alone: a collection that is none of them is there for this moment.
      const collection = shardOfName(name) === undefined ? name : `x${name}`;
      const body = bodyOf(engine, configuration);
      await engine.execute({ operation: 'create_collection', collection, body });
      await engine.execute({ operation: 'delete_collection', collection });
    },
  });
  const { limits, models } = parts;
  return new Coordinator({
    ...{ node, engine, logs, collections, reads, members, acknowledgements, models },
    ...(limits !== undefined && { limits }),
    operator: new Operator(map, collections),
    map: () => map.state,
    refusalOf: (shard) => divergence.refusalOf(shard),
  });
}
