import { EngineError, type Answer } from '../../engine/types';
import type { LogService } from '../log/record-log';
import { placementOf } from '../map/placement';
import type { Decision, ProposableMap, Proposal } from '../map/shard-map';
import { collectionNamed, nodesOf, type CollectionEntry, type ShardMapState } from '../map/state';
import { aliasActionsOf } from './aliases';
import { envelopeOf, jsonOf } from './answers';
import { newlyDeclared } from './layout';
import type { CallerLimits } from './limits';
import { changedReplication, numbered, replicationOf } from './new-collection';
import type { Deadline } from './writes';

/** What operations on collections as a whole use. */
export interface CollectionsParts {
  readonly map: ProposableMap;
  readonly logs: LogService;
  /** The nodes that are live, by id. */
  readonly liveNodes: () => readonly string[];
  /** Resolves when the live nodes have a version of the map, or after a while. */
  readonly known: (version: number, signal: AbortSignal) => Promise<void>;
  /** Rejects with the error that the engine has for a new collection of that name and configuration. */
  readonly check: (name: string, configuration: Buffer) => Promise<void>;
}

/** Collections and aliases: events of the shard map. */
export class Collections {
  constructor(private readonly parts: CollectionsParts) {}

  /** The collection of a name or an alias. @throws EngineError `collection_not_found` */
  named(name: string): CollectionEntry {
    const entry = collectionNamed(this.#state, name);
    if (entry === undefined) throw new EngineError('collection_not_found', { name });
    return entry;
  }

  list(startedAt: number, limits: CallerLimits): Answer {
    const names = [...this.#state.names.keys()].filter((name) => limits.allows(name, 'read')).sort();
    return envelopeOf({ collections: names.map((name) => ({ name })) }, startedAt);
  }

  exists(name: string, startedAt: number): Answer {
    return envelopeOf({ exists: collectionNamed(this.#state, name) !== undefined }, startedAt);
  }

  /** All aliases, or those of a collection. */
  aliases(of: string | undefined, startedAt: number, limits: CallerLimits): Answer {
    const only = of === undefined ? undefined : this.named(of).id;
    const aliases = [...this.#state.aliases]
      .filter(([alias, id]) => (only === undefined || id === only) && limits.allows(alias, 'read'))
      .map(([alias_name, id]) => ({ alias_name, collection_name: this.#state.collections.get(id)?.name }));
    return envelopeOf({ aliases }, startedAt);
  }

  async changeAliases(body: Buffer, startedAt: number, deadline: Deadline): Promise<Answer> {
    await this.#propose(
      (state) => ({ kind: 'aliases_changed', actions: aliasActionsOf(body, state) }),
      deadline,
    );
    return envelopeOf(true, startedAt);
  }

  /** Creates a collection; it is answered when the map has it, and every node makes its replicas then. */
  async create(name: string, body: Buffer, startedAt: number, deadline: Deadline): Promise<Answer> {
    refuseTaken(this.#state, name);
    await this.parts.check(name, body);
    const live = this.parts.liveNodes();
    const replication = replicationOf(body, live.length);
    const { logs } = this.parts;
    const { group } = numbered(this.#state, logs.groups);
    // A position before the first record of the collection, whichever group it gets.
    const { lastSequence: firstPosition } = await logs.group(group).state(deadline.signal);
    await this.#propose((state) => {
      refuseTaken(state, name);
      const number = numbered(state, logs.groups);
      if (number.group !== group) return { refused: 'another collection was created' };
      const placement = placementOf(state, { id: number.id, ...replication }, (node) => live.includes(node));
      const collection = {
        ...number,
        name,
        configuration: body.toString(),
        ...replication,
        placement,
        firstPosition,
      };
      return { kind: 'collection_created', collection };
    }, deadline);
    return envelopeOf(true, startedAt);
  }

  /** Whether there was one (C4.5). */
  async drop(name: string, startedAt: number, deadline: Deadline): Promise<Answer> {
    // An alias is no name of a collection that can be deleted.
    const id = this.#state.names.get(name);
    if (id === undefined) return envelopeOf(false, startedAt);
    const decision = await this.#decide(
      ({ collections }) =>
        collections.has(id) ? { kind: 'collection_dropped', collection: id } : { refused: 'it is gone' },
      deadline,
    );
    return envelopeOf(!('refused' in decision), startedAt);
  }

  /** Changes what the map has of a collection: the numbers of replicas, and what coordinators look for. */
  async change(entry: CollectionEntry, body: Buffer, deadline: Deadline): Promise<void> {
    const changed = { ...changedReplication(body), ...newlyDeclared(entry, jsonOf(body)) };
    if (Object.keys(changed).length === 0) return;
    const nodes = nodesOf(this.#state).length;
    const {
      replicationFactor = entry.replicationFactor,
      writeConsistencyFactor = entry.writeConsistencyFactor,
    } = changed;
    if (replicationFactor > nodes || writeConsistencyFactor > replicationFactor) {
      throw new EngineError('bad_request', {
        message: `params: ${writeConsistencyFactor} of ${replicationFactor} replicas on ${nodes} nodes`,
      });
    }
    await this.#propose(() => ({ kind: 'collection_changed', collection: entry.id, ...changed }), deadline);
  }

  get #state(): ShardMapState {
    return this.parts.map.state;
  }

  /** Proposes an event, again where another one came between that concerns it. */
  async #propose(make: (state: ShardMapState) => Proposal, deadline: Deadline): Promise<void> {
    const decision = await this.#decide(make, deadline);
    if ('refused' in decision) throw new EngineError('bad_request', { message: decision.refused });
  }

  /** The same; a refusal is the result. */
  async #decide(make: (state: ShardMapState) => Proposal, { at, signal }: Deadline): Promise<Decision> {
    const timeoutMs = Math.max(1, Math.ceil(at - performance.now()));
    const decision = await this.parts.map.change(make, { timeoutMs, signal });
    if ('refused' in decision) return decision;
    // A client may go to another node next.
    await this.parts.known(decision.version, signal);
    return decision;
  }
}

function refuseTaken({ names, aliases }: ShardMapState, name: string): void {
  if (names.has(name)) throw new EngineError('collection_exists', { name });
  if (aliases.has(name)) throw new EngineError('alias_exists', { name });
}
