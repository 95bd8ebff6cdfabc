/** The work that a node does again and again. */
import { Expiry } from './expiry';
import type { Proposal, ShardMap } from './map/shard-map';
import type { ShardMapState } from './map/state';
import type { Members } from './membership/members';
import { isProposer } from './membership/proposer';
import { reconcile } from './reconciliation/reconcile';
import type { Progress } from './replica/progress';
import type { ClusterNodeParts, RunningNode } from './running-node';
import { keepCheckpoints, watchStreams } from './streams/upkeep';

const RECONCILE_MS = 1_000;
const PROPOSE_MS = 5_000;
const COMPARE_MS = 1_000;
const SAVE_MS = 2_000;
/** Between two looks for points whose time has come. */
const EXPIRY_MS = 1_000;

/** What the node keeps in files of its data directory. */
export interface KeptFiles {
  readonly progress: Progress;
  /** Notes how far this node has read the shard map. */
  readonly noteMap: () => Promise<void>;
}

/** Begins the work of a node that has joined. It ends first of all that runs. */
export function beginWork(
  running: RunningNode,
  { settings, store, log }: Pick<ClusterNodeParts, 'settings' | 'store' | 'log'>,
  { progress, noteMap }: KeptFiles,
): void {
  const { node, engine, connection, map, members, replicas, divergence, coordinator } = running;
  const { repeated, cleanUp } = running;
  repeated.every(SAVE_MS, 'shard map', noteMap);
  repeated.every(SAVE_MS, 'progress', () => progress.save());
  repeated.every(RECONCILE_MS, 'reconciliation', (signal) => proposeMissing(running, signal));
  repeated.every(COMPARE_MS, 'divergence', () => {
    divergence.compareHeartbeats();
  });
  watchStreams(connection, running, running);
  if (store !== undefined) {
    const { dataDir, checkpoints } = settings;
    keepCheckpoints({ ...running, store, log, dataDir, settings: checkpoints }, running);
  }
  const expiry = new Expiry({
    ...{ node, engine, writes: coordinator.writes },
    map: () => map.state,
    isLive: (one) => members.isLive(one),
    isCurrent: (shard) => replicas.current(shard) !== undefined,
  });
  repeated.every(EXPIRY_MS, 'expiry', (signal) => expiry.removeDue(signal));
  cleanUp.add('repeated work', () => repeated.end());
}

/** Proposes what the map lacks, where this node is the one that does. */
async function proposeMissing(
  parts: { readonly node: string; readonly map: ShardMap; readonly members: Members },
  signal: AbortSignal,
): Promise<void> {
  if (!isProposer(parts)) return;
  const { map, members } = parts;
  const { state } = map;
  for (const [at, event] of reconcile(state, members).entries()) {
    // Another event that came between may make this one wrong: two nodes could each drop another replica of a shard.
    const unlessChanged = ({ version }: ShardMapState): Proposal =>
      version === state.version + at ? event : { refused: 'the map has changed meanwhile' };
    const decision = await map.change(unlessChanged, { timeoutMs: PROPOSE_MS, signal });
    if ('refused' in decision) return;
  }
}
