/** Making a stream of the shard map anew, of what a node has saved of it, where the log servers have lost theirs for good. */
import { randomUUID } from 'node:crypto';
import { recordFrom, stateIfThere } from '../log/record-from';
import { LogUnavailableError, type LogServers } from '../log/record-log';
import { encodeEvent } from '../map/event';
import { savedMapOf } from '../map/saved';
import { MAP_KIND, MAP_SUBJECT } from '../map/shard-map';
import { settled } from '../waiting';
import type { KnownMap, SeenMap } from './known-map';

/** Sequences that are left out after the last event that is known: other nodes may have read more of the lost stream. */
const ROOM = 2 ** 20;
/** How long a stream must be found lost: servers that have just started may not know all that they have. */
const SETTLE_MS = 5_000;
const PAUSE_MS = 500;
const MAKE_MS = 30_000;
const PUBLISH_MS = 60_000;
const READ_MS = 30_000;

/** The map is not to be made anew, or not of what this directory has. */
export class RecoveryRefused extends Error {
  override readonly name = 'RecoveryRefused';
}

/** What would be done. */
export interface RecoveryPlan {
  /** Why the stream is lost. */
  readonly found: string;
  /** What is left of it, which is removed. */
  readonly hasRemains: boolean;
  /** The last event that the new stream begins with: later ones are lost. */
  readonly lastSequence: number;
  readonly nodes: number;
  /** The names of the collections that the map has. */
  readonly collections: readonly string[];
  readonly aliases: number;
}

/** How a recovery waits. */
export interface RecoveryLimits {
  /** How long the stream must be found lost: servers that have just started may not know all that they have. */
  readonly settleMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Looks whether the stream was lost, and what of it this directory has.
 * @throws RecoveryRefused where it was not lost, was made anew already, or is not saved here; LogUnavailableError; the reason of the
 *   signal
 */
export async function planRecovery(
  servers: LogServers,
  known: KnownMap,
  { settleMs = SETTLE_MS, signal }: RecoveryLimits = {},
): Promise<RecoveryPlan> {
  const { seen, state } = known;
  if (seen === undefined) {
    throw new RecoveryRefused(`there is no ${known.path}: this node has never read the shard map`);
  }
  if (state === undefined) {
    throw new RecoveryRefused(`${known.path} was written by an earlier release, and does not have the map`);
  }
  const settling = { settleMs, pauseMs: PAUSE_MS, signal };
  // Until the time is over it may be found not to be lost.
  const found = await settled(
    () => lossOf(servers, seen, signal),
    () => false,
    settling,
  );
  const { nodes, collections, aliases } = state;
  return {
    ...{ ...found, lastSequence: seen.lastSequence, nodes: nodes.size, aliases: aliases.size },
    collections: [...collections.values()].map(({ name }) => name).sort(),
  };
}

/** Why a stream is lost, and whether something of its name is left. @throws RecoveryRefused where it is not lost */
async function lossOf(
  { map }: LogServers,
  seen: SeenMap,
  signal: AbortSignal | undefined,
): Promise<Pick<RecoveryPlan, 'found' | 'hasRemains'>> {
  const { name } = map;
  const state = await stateIfThere(map, signal);
  if (state === undefined) return { found: `the log servers do not have ${name}`, hasRemains: false };
  const { created, firstSequence, lastSequence } = state;
  if (created === seen.created) {
    if (lastSequence >= seen.lastSequence) {
      throw new RecoveryRefused(
        `${name} is not lost: it has all ${seen.lastSequence} events that this node has read`,
      );
    }
    const found = `${name} ends at event ${lastSequence}, and this node has read ${seen.lastSequence}`;
    return { found, hasRemains: true };
  }
  if (lastSequence < firstSequence) {
    return { found: `${name} was made anew at ${created}, and is empty`, hasRemains: true };
  }
  // A long map is several messages: a recovery that was interrupted between them has left no record.
  const first = await recordFrom(map, { fromSequence: firstSequence }, { timeoutMs: READ_MS, signal });
  if (first === undefined && firstSequence > 1) {
    return { found: `${name} was made anew at ${created}, and has a part of a map`, hasRemains: true };
  }
  throw new RecoveryRefused(
    `${name} was made anew at ${created} and has events. Where this command was run at a node already, start this node: it says whether it can follow. Else remove that stream from the log servers, if it is nothing that is still wanted`,
  );
}

/**
 * Does it: removes what is left, makes the stream, and publishes the map as its first event. A node whose directory has read no more
 * follows it, this one too. After an interruption it can be done again.
 * @throws LogUnavailableError, OutcomeUnknownError, LogConfigurationError; the reason of the signal
 */
export async function recoverMap(
  servers: LogServers,
  { path, seen, state }: KnownMap,
  { hasRemains, lastSequence }: RecoveryPlan,
  signal?: AbortSignal,
): Promise<void> {
  if (seen === undefined || state === undefined) throw new RecoveryRefused(`${path} has no map`);
  if (hasRemains) await servers.removeMap();
  const firstSequence = lastSequence + ROOM + 1;
  const made = await servers.makeMap({ isNew: true, firstSequence }, { timeoutMs: MAKE_MS, signal });
  if (made.firstSequence !== firstSequence) {
    throw new LogUnavailableError(`${servers.map.name} was made by another node meanwhile`);
  }
  const event = { kind: 'map_recovered', lost: seen.created, lastSequence, map: savedMapOf(state) } as const;
  const record = { operation: randomUUID(), epoch: 0, kind: MAP_KIND, payload: encodeEvent(event) };
  await servers.map.publish(MAP_SUBJECT, record, { timeoutMs: PUBLISH_MS, signal });
}
