/** Making a stream of the shard map anew, of what a node has saved of it, where the log servers have lost theirs for good. */
import { randomUUID } from 'node:crypto';
import { StreamMissingError, type LogServers, type StreamState } from '../log/record-log';
import { encodeEvent } from '../map/event';
import { savedMapOf } from '../map/saved';
import { MAP_KIND, MAP_SUBJECT } from '../map/shard-map';
import { pause } from '../pause';
import type { KnownMap, SeenMap } from './known-map';

/** Sequences that are left out after the last event that is known: other nodes may have read more of the lost stream. */
const ROOM = 2 ** 20;
/** How long a stream must be found lost: servers that have just started may not know all that they have. */
const SETTLE_MS = 5_000;
const PAUSE_MS = 500;
const MAKE_MS = 30_000;
const PUBLISH_MS = 60_000;

/** The map is not to be made anew, or not of what this directory has. */
export class RecoveryRefused extends Error {
  override readonly name = 'RecoveryRefused';
}

/** What would be done. */
export interface RecoveryPlan {
  /** Why the stream is lost. */
  readonly found: string;
  /** What is left of it, which is removed. */
  readonly isLeft: boolean;
  /** The last event that the new stream begins with: later ones are lost. */
  readonly lastSequence: number;
  readonly nodes: number;
  /** The names of the collections that the map has. */
  readonly collections: readonly string[];
  readonly aliases: number;
}

/**
 * Looks whether the stream was lost, and what of it this directory has.
 * @throws RecoveryRefused where it was not lost, was made anew already, or is not saved here; LogUnavailableError
 */
export async function planRecovery(
  servers: LogServers,
  known: KnownMap,
  settleMs = SETTLE_MS,
): Promise<RecoveryPlan> {
  const { seen, state } = known;
  if (seen === undefined) {
    throw new RecoveryRefused(`there is no ${known.path}: this node has never read the shard map`);
  }
  if (state === undefined) {
    throw new RecoveryRefused(`${known.path} was written by an earlier release, and does not have the map`);
  }
  const endMs = performance.now() + settleMs;
  for (;;) {
    const found = lossOf(servers, seen, await stateIn(servers));
    if (performance.now() >= endMs) {
      const { nodes, collections, aliases } = state;
      return {
        ...{ ...found, lastSequence: seen.lastSequence, nodes: nodes.size, aliases: aliases.size },
        collections: [...collections.values()].map(({ name }) => name).sort(),
      };
    }
    await pause(PAUSE_MS);
  }
}

async function stateIn({ map }: LogServers): Promise<StreamState | undefined> {
  try {
    return await map.state();
  } catch (error) {
    if (error instanceof StreamMissingError) return undefined;
    throw error;
  }
}

/** Why a stream is lost, and whether something of its name is left. @throws RecoveryRefused where it is not lost */
function lossOf(
  { map: { name } }: LogServers,
  seen: SeenMap,
  state: StreamState | undefined,
): Pick<RecoveryPlan, 'found' | 'isLeft'> {
  if (state === undefined) return { found: `the log servers do not have ${name}`, isLeft: false };
  const { created, firstSequence, lastSequence } = state;
  if (created === seen.created) {
    if (lastSequence >= seen.lastSequence) {
      throw new RecoveryRefused(
        `${name} is not lost: it has all ${seen.lastSequence} events that this node has read`,
      );
    }
    const found = `${name} ends at event ${lastSequence}, and this node has read ${seen.lastSequence}`;
    return { found, isLeft: true };
  }
  if (lastSequence >= firstSequence) {
    throw new RecoveryRefused(
      `${name} was made anew at ${created} and has events. Where this command was run at a node already, start this node: it says whether it can follow. Else remove that stream from the log servers, if it is nothing that is still wanted`,
    );
  }
  return { found: `${name} was made anew at ${created}, and is empty`, isLeft: true };
}

/**
 * Does it: removes what is left, makes the stream, and publishes the map as its first event; this directory follows the new
 * stream from then on. After an interruption it can be done again.
 * @throws LogUnavailableError, OutcomeUnknownError, LogConfigurationError
 */
export async function recoverMap(
  servers: LogServers,
  known: KnownMap,
  { isLeft, lastSequence }: RecoveryPlan,
): Promise<void> {
  const { seen, state } = known;
  if (seen === undefined || state === undefined) throw new RecoveryRefused(`${known.path} has no map`);
  if (isLeft) await servers.removeMap();
  const { created } = await servers.makeMap(
    { isNew: true, firstSequence: lastSequence + ROOM + 1 },
    { timeoutMs: MAKE_MS },
  );
  const event = { kind: 'map_recovered', lost: seen.created, lastSequence, map: savedMapOf(state) } as const;
  const record = { operation: randomUUID(), epoch: 0, kind: MAP_KIND, payload: encodeEvent(event) };
  const { sequence } = await servers.map.publish(MAP_SUBJECT, record, { timeoutMs: PUBLISH_MS });
  await known.note(created, { ...state, version: sequence });
}
