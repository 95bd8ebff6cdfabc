import type { Transport } from '../client/transport';
import { CountedRejects } from '../transfer/counted-rejects';
import { importPoints } from '../transfer/import';
import { SourceError, type Rejected, type Row, type Source } from '../transfer/row';
import { compare } from './compare';
import { createCollection, createIndex } from './create';
import type { CollectionOutcome } from './outcome';
import { Sample } from './sample';
import type { SourceCollection } from './source';
import type { Begun, MigrationState } from './state';

/** Points of one request, and bytes of its JSON, at most. */
const BATCH_POINTS = 500;
const BATCH_BYTES = 4 * 1024 * 1024;
/** Points that are compared one by one. */
const SAMPLED = 100;

/** What a copy reports to. */
export interface CopyObserver {
  /** A point is refused. */
  readonly reject: (collection: string, row: Rejected) => void;
  /** So many points of the collection are stored or refused by now: in this run, and since its start. */
  readonly progressed: (collection: SourceCollection, points: number, all: number) => void;
}

/**
 * Makes a collection like that of the source: creates it unless that was done, copies its points, makes its indexes and
 * compares.
 */
export async function copyCollection(
  source: SourceCollection,
  target: Transport,
  state: MigrationState,
  { reject, progressed }: CopyObserver,
  parallel: number,
): Promise<CollectionOutcome> {
  const { name } = source;
  const begun = await begin(source, target, state);
  const rows = new SourceRows(source, begun);
  const rejects = new CountedRejects(begun.rejected);
  const copied = importPoints({
    transport: target,
    collection: name,
    source: rows,
    from: begun.ordinal,
    batchPoints: BATCH_POINTS,
    batchBytes: BATCH_BYTES,
    parallel,
    reject: (row) => {
      rejects.add(row.ordinal);
      reject(name, row);
    },
    progressed: (_stored, next) => {
      const page = rows.pageBefore(next);
      const rejected = rejects.before(page.ordinal);
      state.note({ ...begun, ...page, rejected, sample: rows.sample.keys }, false);
      progressed(source, next - begun.ordinal, next);
    },
  });
  await copied.finally(() => {
    state.save();
  });
  const ofIndexes: string[] = [];
  for (const index of source.indexes) ofIndexes.push(...(await createIndex(target, name, index)));
  const refusedIndexes = ofIndexes.filter((remark) => remark.startsWith('The index of ')).length;
  const compared = await compare(source, target, [...new Set(rows.sample.keys)]);
  return {
    name,
    points: compared.source,
    stored: compared.target,
    rejected: rejects.before(Infinity),
    indexes: source.indexes.length - refusedIndexes,
    remarks: [...begun.remarks, ...ofIndexes],
    compared,
  };
}

async function begin(source: SourceCollection, target: Transport, state: MigrationState): Promise<Begun> {
  const { name, config = {}, remarks } = source;
  const known = state.begun(name);
  if (known?.isCreated === true) return known;
  const fresh: Begun = {
    name,
    isCreated: false,
    remarks,
    position: undefined,
    ordinal: 0,
    rejected: 0,
    sample: [],
  };
  // Before the collection exists: from then on it is of this migration.
  state.note(fresh, true);
  await removeEmpty(target, name);
  const ofCreation = await createCollection(target, name, config);
  const begun = { ...fresh, isCreated: true, remarks: [...remarks, ...ofCreation] };
  state.note(begun, true);
  return begun;
}

/** Removes what a creation left that was interrupted: a collection without points. */
async function removeEmpty(target: Transport, collection: string): Promise<void> {
  const exists = await target.execute({ operation: 'collection_exists', collection });
  if (!(exists.result as { readonly exists: boolean }).exists) return;
  const { result } = await target.execute({ operation: 'count', collection, body: { exact: true } });
  if ((result as { readonly count: number }).count > 0) {
    throw new SourceError(
      `The collection ${collection} exists and has points that are not of this migration`,
    );
  }
  await target.execute({ operation: 'delete_collection', collection });
}

/** The points of a collection as rows of an import. Their ordinals count from the start of the collection. */
class SourceRows implements Source {
  readonly bytes = 0;
  readonly sample: Sample;
  /** The pages of which rows may not be stored yet. */
  #pages: { readonly position: string; readonly ordinal: number }[] = [];

  constructor(
    private readonly collection: SourceCollection,
    private readonly begun: Begun,
  ) {
    this.sample = new Sample(SAMPLED, begun.sample, begun.ordinal);
  }

  bytesRead(): number {
    return 0;
  }

  async *rows(from: number): AsyncGenerator<Row> {
    let ordinal = from;
    for await (const { position, points } of this.collection.pages(this.begun.position)) {
      this.#pages.push({ position, ordinal });
      for (const { json, key, reason = 'it cannot be read' } of points) {
        const place = `point ${ordinal}`;
        if (json === undefined) {
          yield { ordinal, place: `point ${key()}`, reason };
        } else {
          this.sample.offer(key);
          yield { ordinal, place, json };
        }
        ordinal += 1;
      }
    }
  }

  /** The last page before the row with this ordinal, with which a resumed migration begins. */
  pageBefore(next: number): { readonly position: string | undefined; readonly ordinal: number } {
    const at = this.#pages.findLastIndex(({ ordinal }) => ordinal <= next);
    this.#pages = this.#pages.slice(Math.max(0, at));
    const { position, ordinal } = this.#pages[0] ?? this.begun;
    return { position, ordinal };
  }
}
