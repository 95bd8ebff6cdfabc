import type { Logger } from 'pino';
import type { Engine } from '../../engine/types';
import { CHECKPOINTS, type Channel } from '../channel';
import type { LogService } from '../log/record-log';
import { preferredNodes } from '../map/placement';
import type { ShardMap } from '../map/shard-map';
import { nodeIds } from '../map/state';
import type { Members } from '../membership/members';
import { isProposer } from '../membership/proposer';
import { saveCheckpoint } from '../replica/checkpoint';
import { reachFacts, reachOf } from '../replica/checkpoint-reach';
import type { LocalReplicas } from '../replica/local-replicas';
import { mappedShard, type MappedShard } from '../replica/opening';
import { positionWithRecords } from '../replica/place';
import type { ShardReplica } from '../replica/shard-replica';
import { nameOf, shardOfName, type Shard } from '../shards';
import type { CheckpointManifest, CheckpointStore } from '../store/checkpoint-store';
import { tryEach } from '../try-each';
import { decodeAnnouncement, encodeAnnouncement } from './announcement';
import { dueOf, type LastCheckpoint } from './due';
import { readBack } from './reading-back';
import type { CheckpointSettings } from './settings';

/** What the checkpoints of a node need. */
export interface CheckpointsParts {
  /** The id of this node. */
  readonly node: string;
  readonly engine: Engine;
  readonly dataDir: string;
  readonly store: CheckpointStore;
  readonly logs: LogService;
  readonly map: Pick<ShardMap, 'state'>;
  readonly members: Members;
  readonly replicas: Pick<LocalReplicas, 'all'>;
  readonly channel: Channel;
  readonly settings: CheckpointSettings;
  readonly log: Logger;
}

/**
 * Saves the replicas of this node, where it is the one that saves their shard, has another node read each checkpoint back, reads
 * back those of others, and removes old ones. It does one thing at a time.
 *
 * The live node with an active replica that the shard prefers saves it. Two nodes may each believe to be it for a moment: the
 * store takes both checkpoints.
 */
export class Checkpoints {
  readonly #last = new Map<string, LastCheckpoint>();
  /** Checkpoints that were saved here, and that no other node is known to have read back, by shard. */
  readonly #unconfirmed = new Map<string, string>();
  /** Checkpoints that this node is asked to read back: the last one of each shard. */
  readonly #toRead = new Map<string, string>();
  /** The shards that the map had when they were looked at last. */
  #shards: ReadonlySet<string> = new Set();

  constructor(private readonly parts: CheckpointsParts) {}

  /** Begins to take what other nodes ask for. Returns what ends that. */
  start(): () => void {
    const { channel, node } = this.parts;
    return channel.receive(CHECKPOINTS, (bytes) => {
      const announced = decodeAnnouncement(bytes);
      if (announced?.reader !== node || !this.#shards.has(announced.shard)) return;
      this.#toRead.set(announced.shard, announced.id);
    });
  }

  /** Does what is due. Rejects with the first error after having tried everything. */
  async round(signal: AbortSignal): Promise<void> {
    const steps = [
      () => this.#removeDropped(),
      () => tryEach(this.parts.replicas.all(), (replica) => this.#look(replica, signal), signal),
      () => tryEach(this.#toRead, ([shard, id]) => this.#readBack(shard, id, signal), signal),
    ];
    await tryEach(steps, (step) => step(), signal);
  }

  async #readBack(shard: string, id: string, signal: AbortSignal): Promise<void> {
    try {
      await readBack(this.parts, shard, id, signal);
    } finally {
      this.#toRead.delete(shard);
    }
  }

  async #look(replica: ShardReplica, signal: AbortSignal): Promise<void> {
    const shard = shardOfName(replica.name);
    if (shard === undefined) return;
    const mapped = mappedShard(this.parts.map.state, shard);
    if (!this.#isSaver(shard, mapped)) {
      this.#last.delete(replica.name);
      this.#unconfirmed.delete(replica.name);
    } else if (mapped.stream.lost === undefined) {
      if (await this.#isDue(replica, mapped, signal)) await this.#save(shard, replica, mapped, signal);
      await this.#announce(shard);
    }
  }

  #isSaver({ collection, shard }: Shard, { entry }: MappedShard): boolean {
    const { members, node } = this.parts;
    const nodes = entry.replicas
      .filter((replica) => replica.state === 'active' && members.isLive(replica.node))
      .map((replica) => replica.node);
    return preferredNodes(collection, shard, nodes)[0] === node;
  }

  async #isDue(replica: ShardReplica, mapped: MappedShard, signal: AbortSignal): Promise<boolean> {
    const { settings, logs } = this.parts;
    const { changed, applied } = replica;
    const last = await this.#lastOf(replica, mapped);
    const isCarried = mapped.entry.origin !== undefined;
    const due = dueOf(last, { atMs: performance.now(), applied, changed, isCarried }, settings);
    if (due !== 'if_stream_grew') return due;
    const { lastSequence } = await logs.group(mapped.collection.group).state(signal);
    return lastSequence > (last.found?.readTo ?? 0);
  }

  /** The newest checkpoint of the present stream: as this node has saved it, or as the store has it. */
  async #lastOf({ name, applied }: ShardReplica, { stream }: MappedShard): Promise<LastCheckpoint> {
    const known = this.#last.get(name);
    if (known !== undefined && (known.found === undefined || known.found.epoch === stream.epoch))
      return known;
    const { checkpoints } = await this.parts.store.list(name);
    const newest = checkpoints.find(
      ({ manifest, missing }) => missing.length === 0 && reachOf(manifest).epoch === stream.epoch,
    );
    if (newest?.confirmedBy.length === 0) this.#unconfirmed.set(name, newest.manifest.id);
    return this.#remember(name, applied, newest?.manifest);
  }

  #remember(name: string, applied: number, manifest: CheckpointManifest | undefined): LastCheckpoint {
    const last: LastCheckpoint = {
      ...{ atMs: performance.now(), applied },
      ...(manifest !== undefined && {
        found: { ...reachOf(manifest), id: manifest.id, position: manifest.position },
      }),
    };
    this.#last.set(name, last);
    return last;
  }

  async #save(
    shard: Shard,
    replica: ShardReplica,
    { collection, stream: { epoch } }: MappedShard,
    signal: AbortSignal,
  ): Promise<void> {
    const { engine, dataDir, store, logs, node, settings, log } = this.parts;
    const { name, applied } = replica;
    // Before the files: they have all that the replica has read by now.
    const stream = logs.group(collection.group);
    const readTo = await positionWithRecords(stream, shard, replica.position, signal);
    const place = { engine, dataDir, store, shard: name, collection: name };
    const manifest = await saveCheckpoint(place, { node, facts: reachFacts({ epoch, readTo }), signal });
    log.info({ replica: name, checkpoint: manifest.id, readTo }, 'a checkpoint was saved');
    this.#remember(name, applied, manifest);
    this.#unconfirmed.set(name, manifest.id);
    await store.removeOld(name, { minAgeMs: settings.minAgeMs });
  }

  /** Asks another node to read a checkpoint back, again until one has; with one node that does it. */
  async #announce(shard: Shard): Promise<void> {
    const { store, channel, map, members, node } = this.parts;
    const name = nameOf(shard);
    const id = this.#unconfirmed.get(name);
    if (id === undefined) return;
    const stored = (await store.list(name)).checkpoints.find(({ manifest }) => manifest.id === id);
    if (stored === undefined || stored.confirmedBy.length > 0) {
      this.#unconfirmed.delete(name);
      // A reader has found it to be damaged.
      if (stored === undefined) this.#last.delete(name);
      return;
    }
    const nodes = nodeIds(map.state);
    const others = nodes.filter((other) => other !== stored.manifest.node && members.isLive(other));
    // A node that is alone reads its own ones.
    const reader = nodes.length === 1 ? nodes[0] : preferredNodes(shard.collection, shard.shard, others)[0];
    if (reader === node) this.#toRead.set(name, id);
    else if (reader !== undefined) channel.send(CHECKPOINTS, encodeAnnouncement({ shard: name, id, reader }));
  }

  /** Removes the checkpoints of shards that went with their collections. */
  async #removeDropped(): Promise<void> {
    const { map, store } = this.parts;
    const before = this.#shards;
    const now = new Set<string>();
    for (const { id: collection, shards } of map.state.collections.values()) {
      for (const shard of shards.keys()) now.add(nameOf({ collection, shard }));
    }
    this.#shards = now;
    if (!isProposer(this.parts)) return;
    for (const name of before) {
      if (now.has(name)) continue;
      for (const { manifest } of (await store.list(name)).checkpoints) await store.discard(manifest);
      await store.removeOld(name, { keep: 0, minAgeMs: 0 });
    }
  }
}
