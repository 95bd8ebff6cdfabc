import { clockJumps } from './clock';
import { fullDisks } from './disk-faults';
import type { FaultKind } from './kind';
import { leaderKills, logFlips, logKills, rollBacks } from './log-faults';
import { mixture } from './mixed-faults';
import { halts, partitions } from './network-faults';
import { nodeKills, replicaFlips, rollingRestarts, wipes } from './node-faults';

/** All kinds of faults, those behind which the cluster is as before first. */
export const KINDS: readonly FaultKind[] = [
  leaderKills,
  nodeKills,
  partitions,
  halts,
  rollingRestarts,
  clockJumps,
  mixture,
  wipes,
  logFlips,
  replicaFlips,
  logKills,
  rollBacks,
  fullDisks,
];
