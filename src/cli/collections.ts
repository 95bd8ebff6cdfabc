import { NotFoundError } from '../client/errors';
import type { ByteTransport } from '../client/transport';
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

/** The 412 of a collection that is marked for deletion (C1.4); a server that starts has another one. */
const COLLECTION_DELETED = 'Collection deleted: ';

/** `kithdb collections`: which collections there are, and what is in them. */
export async function listCollections(
  config: Config,
  console: Console,
  flags: GivenFlags,
): Promise<ExitCode> {
  const rows = await withService(config, flags, async (service) => {
    const { result } = await service.execute({ operation: 'list_collections' });
    const { collections } = result as { collections: readonly { name: string }[] };
    const infos = [];
    for (const { name } of collections) {
      const info = await infoOf(service, name);
      if (info === undefined) continue;
      const { status, points_count, indexed_vectors_count } = info;
      infos.push({ name, status, points: points_count, indexed_vectors: indexed_vectors_count });
    }
    return infos;
  });
  if (flags.has('json')) {
    console.stdout.write(`${JSON.stringify(rows)}\n`);
    return EXIT.success;
  }
  if (rows.length === 0) {
    console.stdout.write('There are no collections.\n');
    return EXIT.success;
  }
  const table = [
    ['NAME', 'STATUS', 'POINTS', 'INDEXED VECTORS'],
    ...rows.map(({ name, status, points, indexed_vectors: indexed }) => [
      name,
      status,
      String(points),
      String(indexed),
    ]),
  ];
  console.stdout.write(tableOf(table));
  return EXIT.success;
}

/** Undefined for a collection that was deleted since it was listed. */
async function infoOf(service: ByteTransport, collection: string): Promise<Info | undefined> {
  try {
    return (await service.execute({ operation: 'collection_info', collection })).result as Info;
  } catch (error) {
    const isGone = error instanceof NotFoundError || (error as Error).message.startsWith(COLLECTION_DELETED);
    if (isGone) return undefined;
    throw error;
  }
}
