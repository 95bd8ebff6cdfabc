import { NotFoundError, UnavailableError } from '../client/errors';
import { DEFAULT_RETRIES, Retries, retrying } from '../client/retries';
import type { ByteTransport, Transport } from '../client/transport';
import type { Config } from '../config';
import { EXIT, type Console, type ExitCode } from './console';
import { withService } from './service';
import { tableOf } from './table';
import type { GivenFlags } from './verbs';

interface Info {
  readonly status: string;
  readonly points_count: number;
  readonly indexed_vectors_count: number;
}

/** A collection as it is listed. */
interface Listed {
  readonly name: string;
  /** That of the collection; `incomplete` where shards cannot be asked. */
  readonly status: string;
  /** Of the shards that can be asked. */
  readonly points: number;
  /** `null` where shards cannot be asked. */
  readonly indexed_vectors: number | null;
  /** The shards that cannot be asked, where there are such. */
  readonly missing_shards?: readonly number[];
}

/** The 412 of a collection that is marked for deletion (C1.4); a server that starts has another one. */
const COLLECTION_DELETED = 'Collection deleted: ';

/** `kithdb collections`: which collections there are, and what is in them. */
export async function listCollections(
  config: Config,
  console: Console,
  flags: GivenFlags,
): Promise<ExitCode> {
  // What may be tried again is below.
  const rows = await withService(config, flags, listed, { retries: 0 });
  const isWhole = rows.every(({ missing_shards: missing }) => missing === undefined);
  const code = isWhole ? EXIT.success : EXIT.reservations;
  if (flags.has('json')) {
    console.stdout.write(`${JSON.stringify(rows)}\n`);
    return code;
  }
  if (rows.length === 0) {
    console.stdout.write('There are no collections.\n');
    return code;
  }
  const table = [
    ['NAME', 'STATUS', 'POINTS', 'INDEXED VECTORS'],
    ...rows.map(({ name, status, points, indexed_vectors: indexed, missing_shards: missing }) => [
      name,
      missing === undefined ? status : `${status}: without shard ${missing.join(', ')}`,
      String(points),
      String(indexed ?? '-'),
    ]),
  ];
  console.stdout.write(tableOf(table));
  return code;
}

async function listed(once: ByteTransport): Promise<readonly Listed[]> {
  const service = retrying(once);
  const { result } = await service.execute({ operation: 'list_collections' });
  const { collections } = result as { collections: readonly { name: string }[] };
  const rows: Listed[] = [];
  for (const { name } of collections) {
    const row = await unlessDeleted(rowOf(once, name));
    if (row !== undefined) rows.push(row);
  }
  return rows;
}

/** Undefined for a collection that was deleted since it was listed. */
async function unlessDeleted(row: Promise<Listed>): Promise<Listed | undefined> {
  try {
    return await row;
  } catch (error) {
    const isGone = error instanceof NotFoundError || (error as Error).message.startsWith(COLLECTION_DELETED);
    if (isGone) return undefined;
    throw error;
  }
}

async function rowOf(once: Transport, name: string): Promise<Listed> {
  const service = retrying(once);
  // Not tried again where it is a 503: that a shard cannot be asked may last.
  const first = await new Retries(DEFAULT_RETRIES).run(true, undefined, () => infoUnless503(once, name));
  if (first === undefined) {
    const incomplete = await incompleteRow(service, name);
    if (incomplete !== undefined) return incomplete;
  }
  const {
    status,
    points_count: points,
    indexed_vectors_count: indexed,
  } = first ?? (await infoOf(service, name));
  return { name, status, points, indexed_vectors: indexed };
}

async function infoOf(service: Transport, collection: string): Promise<Info> {
  return (await service.execute({ operation: 'collection_info', collection })).result as Info;
}

async function infoUnless503(service: Transport, collection: string): Promise<Info | undefined> {
  try {
    return await infoOf(service, collection);
  } catch (error) {
    if (error instanceof UnavailableError) return undefined;
    throw error;
  }
}

/** The row of a collection of a cluster of which shards cannot be asked; undefined where all of them can. */
async function incompleteRow(service: Transport, name: string): Promise<Listed | undefined> {
  let missing: readonly number[] = [];
  const { result } = await service.execute({
    ...{ operation: 'count', collection: name, body: { exact: true }, flags: { allow_partial: true } },
    onMissingShards: (shards) => {
      missing = shards;
    },
  });
  const { count } = result as { count: number };
  if (missing.length === 0) return undefined;
  return { name, status: 'incomplete', points: count, indexed_vectors: null, missing_shards: missing };
}
