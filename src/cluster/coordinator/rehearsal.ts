import { EngineError, type EngineRequest } from '../../engine/types';
import type { CollectionEntry } from '../map/state';
import { DRY_RUNS } from '../peers/read-headers';
import { formIn } from '../record/write-record';
import { joinedError } from './outcomes';
import type { Reads } from './reads';
import type { StrictMode } from './strict-mode';
import type { Deadline, PublishedWrite } from './writes';

/** Has replicas try writes of points before they are published. */
export class Rehearsal {
  constructor(
    private readonly reads: Pick<Reads, 'ask'>,
    private readonly strictMode: StrictMode,
  ) {}

  /**
   * Has a replica of each shard try its part; one that was applied before is answered as then.
   * @throws EngineError that the parts would get now, where one would
   */
  async rehearse(
    entry: CollectionEntry,
    { operationId, record }: Omit<PublishedWrite, 'position'>,
    deadline: Deadline,
  ): Promise<void> {
    const { operation, target, isLenient, limits, parts } = record;
    if (!DRY_RUNS.has(operation)) return;
    const request: EngineRequest = { operation, isLenient, dryRun: true, ...formIn(record) };
    const own = { request, limits, deadline, readAfter: undefined, allowsPartial: false };
    const context = { ...own, operationId };
    const elsewhere = await this.strictMode.elsewhere(entry, own);
    const tried = await Promise.allSettled(
      [...parts].map(([shard, body]) => {
        const strictScope = { kind: 'part', elsewhere: elsewhere(shard) } as const;
        return this.reads.ask(entry, { shard, operation, target, body, strictScope }, context);
      }),
    );
    const failures = tried.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    if (failures.length === 0) return;
    const refusals = failures.filter((failure) => failure instanceof EngineError);
    throw refusals.length === failures.length ? joinedError(refusals) : failures[0];
  }
}
