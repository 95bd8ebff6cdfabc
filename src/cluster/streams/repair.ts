import type { Logger } from 'pino';
import type { Engine } from '../../engine/types';
import { FROZEN, type Channel } from '../channel';
import { stateIfThere } from '../log/record-from';
import { LogChangedError, StreamMissingError, type LogServers, type RecordLog } from '../log/record-log';
import type { Proposal, ShardMap } from '../map/shard-map';
import { groupOf, type ShardMapState, type StreamEntry } from '../map/state';
import type { Members } from '../membership/members';
import { isProposer } from '../membership/proposer';
import type { LocalReplicas } from '../replica/local-replicas';
import { mappedShard } from '../replica/opening';
import { lastOperationOf } from '../replica/place';
import { readState, ShardReplica } from '../replica/shard-replica';
import { shardOfName } from '../shards';
import { tryEach } from '../try-each';
import { decodeFrozen, encodeFrozen, type FrozenReplica } from './frozen-replica';
import { planRepair, type FrozenView } from './repair-plan';

/**
 * Positions that are left free before a new stream: a replica that nobody reaches may have read more of the lost one than all
 * others, at most what was under way.
 */
const GAP = 2 ** 20;
/** The engine's number of an operation has room for positions below this (docs/cluster.md, _Operation numbers_). */
const MAX_POSITION = 2 ** 33;
/** Streams that earlier attempts have made for epochs that the map does not have. */
const MAX_ABANDONED = 16;
const MAKE_MS = 10_000;
const PROPOSE_MS = 5_000;

/** What the repair of streams needs. */
export interface RepairParts {
  /** The id of this node. */
  readonly node: string;
  readonly engine: Engine;
  readonly logs: Pick<LogServers, 'group' | 'makeGroup'>;
  readonly map: Pick<ShardMap, 'state' | 'propose'>;
  readonly members: Members;
  readonly replicas: Pick<LocalReplicas, 'frozen'>;
  readonly channel: Channel;
  readonly hasStore: boolean;
  readonly log: Logger;
}

/**
 * Gives log groups whose stream was lost another one. Every node tells what its replicas have; the node that proposes for the
 * cluster has the map note with which state each shard goes on, in a stream whose sequences are behind all positions.
 */
export class StreamRepair {
  readonly #frozen = new Map<string, FrozenReplica>();
  /** What this node has told, as long as the stream is lost. */
  readonly #own = new Map<string, FrozenReplica>();
  readonly #waitsFor = new Map<number, string>();

  constructor(private readonly parts: RepairParts) {}

  /** Begins to take what other nodes tell. Returns what ends that. */
  start(): () => void {
    return this.parts.channel.receive(FROZEN, (bytes) => {
      const frozen = decodeFrozen(bytes);
      const lost = frozen && this.#lost().find(([group]) => group === frozen.group);
      if (lost?.[1].epoch === frozen?.epoch && frozen !== undefined)
        this.#frozen.set(keyOf(frozen.node, frozen.replica), frozen);
    });
  }

  /** What the repair of groups waits for. */
  problems(): readonly string[] {
    return [...this.#waitsFor].map(
      ([group, what]) => `the repair of the stream of log group ${group} waits for ${what}`,
    );
  }

  async round(signal: AbortSignal): Promise<void> {
    const lost = this.#lost();
    if (lost.length === 0) {
      this.#frozen.clear();
      this.#own.clear();
    }
    const proposes = isProposer(this.parts);
    this.#waitsFor.clear();
    const work = async ([group, stream]: readonly [number, StreamEntry]): Promise<void> => {
      await this.#tell(group, stream, signal);
      if (proposes) await this.#repair(group, stream, signal);
    };
    await tryEach(lost, work, signal);
  }

  #lost(): readonly (readonly [number, StreamEntry])[] {
    return [...this.parts.map.state.streams].filter(([, { lost }]) => lost !== undefined);
  }

  /** Tells the other nodes what the replicas of this one have. */
  async #tell(group: number, { epoch }: StreamEntry, signal: AbortSignal): Promise<void> {
    const { replicas, channel, node, logs } = this.parts;
    for (const replica of replicas.frozen(group)) {
      signal.throwIfAborted();
      const key = keyOf(node, replica.name);
      const known = this.#own.get(key);
      const frozen =
        known?.epoch === epoch && known.group === group
          ? known
          : { node, group, epoch, ...(await this.#stateOf(logs.group(group, epoch), replica, signal)) };
      this.#own.set(key, frozen);
      channel.send(FROZEN, encodeFrozen(frozen));
    }
  }

  async #stateOf(
    log: RecordLog,
    { name }: ShardReplica,
    signal: AbortSignal,
  ): Promise<Pick<FrozenReplica, 'replica' | 'position' | 'digest' | 'isInStream'>> {
    const { engine, map } = this.parts;
    const shard = shardOfName(name);
    if (shard === undefined) throw new Error(`${name} is no name of a replica`);
    // As the engine has it: the record that was being applied when the stream was lost may be in it.
    const replica = await ShardReplica.open(engine, name, shard.shard);
    const { position, digest = '' } = await readState(engine, name, true);
    const { firstPosition } = mappedShard(map.state, shard);
    let isInStream = true;
    try {
      await lastOperationOf(log, { shard, replica, firstPosition }, signal);
    } catch (error) {
      if (!(error instanceof LogChangedError || error instanceof StreamMissingError)) throw error;
      isInStream = false;
    }
    return { replica: name, position, digest, isInStream };
  }

  async #repair(group: number, { epoch }: StreamEntry, signal: AbortSignal): Promise<void> {
    const { map, logs, log } = this.parts;
    const { state } = map;
    const plan = planRepair(state, group, this.#view(group, epoch));
    if ('waitsFor' in plan) {
      this.#waitsFor.set(group, plan.waitsFor);
      return;
    }
    const highest = await this.#highestOf(group, state, signal);
    if (highest + 2 * GAP > MAX_POSITION) throw new Error('the positions of a log group are used up');
    for (let next = epoch + 1; next <= epoch + MAX_ABANDONED; next += 1) {
      const wanted = { epoch: next, firstSequence: highest + GAP + 1 };
      const { created, firstSequence } = await logs.makeGroup(group, wanted, {
        timeoutMs: MAKE_MS,
        signal,
      });
      // An attempt that knew of fewer records has made it.
      if (firstSequence <= highest + 1) continue;
      const firstPosition = firstSequence - 1;
      const event = { kind: 'stream_replaced', group, epoch: next, created, firstPosition, ...plan } as const;
      const isStill = (now: ShardMapState): Proposal =>
        isUnchanged(group, state, now) ? event : { refused: 'replicas of the group have changed' };
      const decision = await map.propose(isStill, { timeoutMs: PROPOSE_MS, signal });
      if ('version' in decision)
        log.warn({ group, epoch: next, firstPosition }, 'a lost stream was replaced');
      return;
    }
    throw new Error(`log group ${group} has too many streams of epochs that the shard map does not have`);
  }

  #view(group: number, epoch: number): FrozenView {
    const { members, hasStore } = this.parts;
    return {
      hasStore,
      stateOf: (node) => members.stateOf(node),
      frozenOn: (node, replica) => {
        const frozen = this.#frozen.get(keyOf(node, replica));
        return frozen?.group === group && frozen.epoch === epoch && members.isLive(node) ? frozen : undefined;
      },
    };
  }

  /** The highest position of the group that anything is known to have, and the end of what is left of the stream. */
  async #highestOf(group: number, state: ShardMapState, signal: AbortSignal): Promise<number> {
    const { members, logs } = this.parts;
    const { epoch = 0, firstPosition = 0 } = state.streams.get(group) ?? {};
    const told = [...this.#frozen.values()]
      .filter((one) => one.group === group)
      .map(({ position }) => position);
    const heard = members.highestPosition((collection) => groupOf(state, collection) === group);
    const last = (await stateIfThere(logs.group(group, epoch), signal))?.lastSequence ?? 0;
    return Math.max(firstPosition, heard, last, ...told);
  }
}

function keyOf(node: string, replica: string): string {
  return `${node}/${replica}`;
}

/** Whether the shards of a group have the replicas that they had, and its stream is lost as it was. */
function isUnchanged(group: number, before: ShardMapState, now: ShardMapState): boolean {
  const partsOf = ({ collections, streams }: ShardMapState): string =>
    JSON.stringify([
      streams.get(group),
      [...collections.values()].filter((one) => one.group === group).map(({ id, shards }) => [id, shards]),
    ]);
  return partsOf(before) === partsOf(now);
}
