import type { StrictScope } from '../../engine/strict-scope';
import { bytesOf, EngineError, type Engine, type EngineRequest } from '../../engine/types';
import type { CollectionEntry } from '../map/state';
import type { PeerClient } from '../peers/client';
import { isAway, PeerUnreachable } from '../peers/errors';
import type { ReplicaRead } from '../peers/handlers';
import type { Hedging } from '../peers/hedging';
import { bodyOf } from '../engine-body';
import type { CurrentReplica } from '../replica/reached';
import type { ShardReplica } from '../replica/shard-replica';
import { pause } from '../pause';
import { nameOf, type Shard } from '../shards';
import type { Deadline } from './writes';

/** How long a question waits for a replica that can be asked. */
const MAX_WAIT_MS = 5_000;
/** The same, of a read that may leave shards out. */
const MAX_PARTIAL_WAIT_MS = 250;
const PAUSE_MS = 25;

/** What one shard is asked. */
export interface Question {
  readonly shard: number;
  readonly operation: EngineRequest['operation'];
  readonly target?: string | undefined;
  readonly body: Buffer;
  /** How the shard takes it; as the request where absent. */
  readonly isLenient?: boolean;
  /** Which limits of strict mode it meets; all where absent. */
  readonly strictScope?: StrictScope;
}

/** A replica that may be asked. */
interface Candidate {
  readonly node: string;
  readonly isLocal: boolean;
}

/** What reads use. */
export interface ReadParts {
  readonly node: string;
  readonly engine: Engine;
  readonly peers: Pick<PeerClient, 'execute'>;
  readonly hedging: Hedging;
  readonly local: (shard: Shard) => ShardReplica | undefined;
  /** Where a node listens; undefined while it is not live. */
  readonly addressOf: (node: string) => { readonly host: string; readonly port: number } | undefined;
  readonly mapVersion: () => number;
  /** Whether no replica is going to come back. */
  readonly isAlone: boolean;
  /** Resolves when a replica of this node is at a position. */
  readonly reached: (
    replica: CurrentReplica,
    position: number,
    signal: AbortSignal,
  ) => Promise<number | undefined>;
}

/** The writes that a read must see: for a shard that they changed the position at which its replica has to be. */
export type ReadAfter = ReadonlyMap<number, number>;

/** What the questions of one read have in common. */
export interface ReadContext {
  readonly request: EngineRequest;
  /** The filter of the caller's token. */
  readonly limits: string | undefined;
  readonly deadline: Deadline;
  /** The write that the read must see. */
  readonly readAfter: ReadAfter | undefined;
  /** Whether shards may be left out. */
  readonly allowsPartial: boolean;
  /** The operation id of a write at `readAfter`, whose answer is asked for again, or of one that is tried. */
  readonly operationId?: string;
}

/** Asks replicas of shards, on this node and on others. */
export class Reads {
  constructor(private readonly parts: ReadParts) {}

  /**
   * Asks one replica of a shard. Where none can answer at the moment, because it is being made or nodes have just gone, it waits
   * a few seconds for one.
   * @throws EngineError `shard_unavailable` when none could be asked.
   */
  async ask(entry: CollectionEntry, question: Question, context: ReadContext): Promise<Buffer> {
    const { at, signal } = context.deadline;
    const patienceMs = context.allowsPartial ? MAX_PARTIAL_WAIT_MS : MAX_WAIT_MS;
    const waitMs = this.parts.isAlone ? 0 : patienceMs;
    const until = Math.min(at, performance.now() + waitMs);
    for (;;) {
      try {
        return await this.#askOne(entry, question, context);
      } catch (error) {
        if (!isAway(error)) throw error;
        if (performance.now() + PAUSE_MS > until) throw noReplica(question.shard);
      }
      await pause(PAUSE_MS, signal);
      signal.throwIfAborted();
    }
  }

  async #askOne(entry: CollectionEntry, question: Question, context: ReadContext): Promise<Buffer> {
    const shard = { collection: entry.id, shard: question.shard };
    const candidates = this.#candidates(entry, shard);
    if (candidates.length === 0) throw new PeerUnreachable(nameOf(shard), 'no replica');
    return this.parts.hedging.askOne(
      candidates,
      (candidate, signal) =>
        candidate.isLocal
          ? this.#askHere(shard, question, context, signal)
          : this.#askThere(candidate.node, nameOf(shard), question, context, signal),
      { signal: context.deadline.signal, kind: question.operation },
    );
  }

  /** The same; undefined where none can be asked and shards may be left out. */
  async askOrLeaveOut(
    entry: CollectionEntry,
    question: Question,
    context: ReadContext,
  ): Promise<Buffer | undefined> {
    try {
      return await this.ask(entry, question, context);
    } catch (error) {
      const isAbsent = error instanceof EngineError && error.code === 'shard_unavailable';
      if (isAbsent && context.allowsPartial) return undefined;
      throw error;
    }
  }

  /** A shard of which this node has a replica that can answer, else one of which another node has; else the first. */
  nearestShard(entry: CollectionEntry): number {
    const { id: collection, shards } = entry;
    const own = shards.findIndex((_, shard) => this.parts.local({ collection, shard }) !== undefined);
    if (own >= 0) return own;
    const any = shards.findIndex((_, shard) => this.#candidates(entry, { collection, shard }).length > 0);
    return Math.max(any, 0);
  }

  /** The active replicas of live nodes; that of this node only where it has caught up. */
  #candidates(entry: CollectionEntry, shard: Shard): readonly Candidate[] {
    const { node: self, local, addressOf } = this.parts;
    const replicas = entry.shards[shard.shard]?.replicas ?? [];
    const canAnswer = (node: string): boolean =>
      node === self ? local(shard) !== undefined : addressOf(node) !== undefined;
    return replicas
      .filter(({ node, state }) => state === 'active' && canAnswer(node))
      .map(({ node }) => ({ node, isLocal: node === self }));
  }

  /** Asks one node for something of its replica. */
  askNode(
    node: string,
    { id: collection }: CollectionEntry,
    question: Question,
    context: ReadContext,
  ): Promise<Buffer> {
    const { signal } = context.deadline;
    const shard = { collection, shard: question.shard };
    return node === this.parts.node
      ? this.#askHere(shard, question, context, signal)
      : this.#askThere(node, nameOf(shard), question, context, signal);
  }

  async #askHere(
    shard: Shard,
    question: Question,
    context: ReadContext,
    signal: AbortSignal,
  ): Promise<Buffer> {
    const { engine, local, reached } = this.parts;
    const { deadline, readAfter, operationId } = context;
    const position = positionFor(shard.shard, readAfter);
    if (position !== undefined) {
      const at = await reached(() => local(shard), position, signal);
      if (at === undefined) throw new PeerUnreachable(nameOf(shard), 'it has not caught up');
    }
    const answer = await engine.execute({
      ...{ collection: nameOf(shard), ...askedOf(question, context) },
      ...(operationId !== undefined && { operationId, position }),
      timeoutSeconds: secondsLeft(deadline),
      body: bodyOf(engine, question.body),
      whenAbandoned: (callback) => {
        if (signal.aborted) callback();
        else signal.addEventListener('abort', callback, { once: true });
      },
    });
    return bytesOf(answer);
  }

  async #askThere(
    node: string,
    collection: string,
    question: Question,
    context: ReadContext,
    signal: AbortSignal,
  ): Promise<Buffer> {
    const { peers, addressOf, mapVersion } = this.parts;
    const { deadline, readAfter, operationId } = context;
    const position = positionFor(question.shard, readAfter);
    const address = addressOf(node);
    if (address === undefined) throw new PeerUnreachable(node, 'it is not live');
    const read: ReplicaRead = {
      ...{ collection, ...askedOf(question, context), position, operationId },
      ...{ timeoutMs: Math.ceil(1000 * secondsLeft(deadline)), mapVersion: mapVersion() },
    };
    return (await peers.execute(address, read, question.body, signal)).answer;
  }
}

/** What a replica is asked, whichever node has it. */
function askedOf({ operation, target, isLenient, strictScope }: Question, { request, limits }: ReadContext) {
  const { packing, isArrow, isLines, caller, answerBytes, dryRun } = request;
  return {
    ...{ operation, target, isLenient: isLenient ?? request.isLenient, strictScope, limits },
    ...{ packing, isArrow, isLines, caller, answerBytes, dryRun },
  };
}

function noReplica(shard: number): EngineError {
  return new EngineError('shard_unavailable', { message: `no replica of shard ${shard} can be reached` });
}

function positionFor(shard: number, after: ReadAfter | undefined): number | undefined {
  return after?.get(shard);
}

function secondsLeft({ at }: Deadline): number {
  return Math.max(0.001, (at - performance.now()) / 1000);
}
