import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { NotFoundError } from '../client/errors';
import type { Transport } from '../client/transport';
import type { Config, VerbFlag } from '../config';
import { parseVectorColumns, VECTOR_COLUMN, type Mapping, type StringIds } from '../transfer/mapping';
import type { Expected } from '../transfer/check';
import { CountedRejects } from '../transfer/counted-rejects';
import { isRejected, type Source } from '../transfer/row';
import { counted, CommandError, EXIT, type Console, type ExitCode } from './console';
import { numberFlag, optionalFlag, requiredFlag } from './flags';
import { Progress } from './progress';
import { Rejects, requireOtherFile } from './rejects';
import { ResumeState, type Reached } from './resume-state';
import { explained, makeDataDir, serverUrl, targetOf, URL_FLAG, withService } from './service';
import type { GivenFlags } from './verbs';

const FORMATS = ['jsonl', 'csv', 'parquet', 'npy', 'fvecs', 'bvecs', 'ivecs'] as const;
type Format = (typeof FORMATS)[number];

/** Other endings of file names that stand for a format. */
const ENDINGS: ReadonlyMap<string, Format> = new Map([
  ['ndjson', 'jsonl'],
  ['json', 'jsonl'],
]);

const BATCH_POINTS = 500;
const BATCH_BYTES = 4 * 1024 * 1024;
const PARALLEL = 4;

/** The flags of `kithdb import`. */
export const IMPORT_FLAGS: readonly VerbFlag[] = [
  URL_FLAG,
  { name: 'collection', placeholder: 'NAME', about: 'The collection that the points go to.' },
  {
    name: 'file',
    placeholder: 'FILE',
    about: 'What is imported. JSONL and CSV may be packed by gzip (.gz).',
  },
  {
    name: 'format',
    placeholder: 'FORMAT',
    about: `One of ${FORMATS.join(', ')}; the ending of the file's name says it otherwise.`,
  },
  {
    name: 'distance',
    placeholder: 'DISTANCE',
    about:
      'Creates the collection when it does not exist, with the dimensions of the first row: Cosine, Euclid, Dot or Manhattan.',
  },
  {
    name: 'ids',
    placeholder: 'KIND',
    about: 'Which ids a collection that --distance creates has: default, or string.',
  },
  {
    name: 'id',
    placeholder: 'COLUMN',
    about:
      'The column, or the field of a JSON object, that has the id; the one named id otherwise, and the number of the row where there is none.',
  },
  {
    name: 'vector',
    placeholder: 'COLUMNS',
    about:
      'The column of the vector, or FIELD=COLUMN for each named vector, separated by commas: a list of numbers, or base64 of 32-bit floats. Lines of JSONL are points when neither this flag nor --id is given, and rows of Parquet that kithdb export has written when --payload is not given either.',
  },
  {
    name: 'payload',
    placeholder: 'COLUMNS',
    about:
      'The columns of the payload, separated by commas; all others otherwise. Of .npy and .vecs: a JSONL file with the payloads.',
  },
  {
    name: 'rejects',
    placeholder: 'FILE',
    about:
      'Rows that are refused go to this file, with the reason, and the import goes on; without it the first one ends the import.',
  },
  {
    name: 'parallel',
    placeholder: 'N',
    about: 'Requests under way at the same time, 4 otherwise; 1 keeps the order of rows with the same id.',
  },
  {
    name: 'resume',
    about:
      'Goes on where an import of the same file into the same collection of the same server or data directory was interrupted; the file of --rejects keeps what it has.',
  },
  {
    name: 'dry-run',
    about:
      'Stores nothing. Reads every row and says which ones cannot be read, or have an id or vectors that the collection, or one with the vectors of the first row, would refuse.',
  },
  { name: 'json', about: 'Prints the outcome as JSON.' },
];

/** The flags that say what the columns are. */
const COLUMN_FLAGS = ['id', 'vector', 'payload'] as const;

/** What an import was asked for. */
interface Order {
  readonly file: string;
  readonly format: Format;
  readonly collection: string;
  readonly mapping: Mapping | undefined;
  /** Whether flags say what the columns are. */
  readonly isMapped: boolean;
  readonly payloads: string | undefined;
}

/** `kithdb import`: the rows of a file become points. */
export async function importFile(config: Config, console: Console, flags: GivenFlags): Promise<ExitCode> {
  const order = orderOf(flags);
  const isDry = flags.has('dry-run');
  const rejectsPath = optionalFlag(flags, 'rejects');
  requireOtherFile(rejectsPath, [order.file, ...(order.payloads === undefined ? [] : [order.payloads])]);
  const state = new ResumeState(identityOf(config, flags, order));
  const reached = flags.has('resume') && !isDry ? state.read() : undefined;
  const rejects = new Rejects(console, rejectsPath, isDry);
  const started = performance.now();
  let stored: number;
  try {
    if (reached !== undefined) await rejects.resume(reached.rejected);
    stored = isDry
      ? await dryRun(config, flags, order, rejects)
      : await importInto(config, flags, { order, rejects, state, reached, console });
    rejects.finish();
  } finally {
    rejects.close();
  }
  const seconds = (performance.now() - started) / 1000;
  const outcome = { points: stored, rejected: rejects.count, seconds };
  if (flags.has('json')) {
    console.stdout.write(`${JSON.stringify(outcome)}\n`);
  } else {
    const what = isDry ? 'would be sent' : `${stored === 1 ? 'is' : 'are'} in ${order.collection}`;
    const refused = rejects.count === 0 ? '' : `, ${counted(rejects.count, 'row')} rejected`;
    console.stdout.write(`${counted(stored, 'point')} ${what}${refused} (${seconds.toFixed(1)} s)\n`);
  }
  return rejects.count === 0 ? EXIT.success : EXIT.reservations;
}

function orderOf(flags: GivenFlags): Order {
  const file = requiredFlag(flags, 'file', 'FILE');
  const collection = requiredFlag(flags, 'collection', 'NAME');
  if (!existsSync(file) || !statSync(file).isFile()) {
    throw new CommandError(`There is no file ${file}`);
  }
  const ending = /\.([a-z]+)(?:\.gz)?$/i.exec(file)?.[1]?.toLowerCase() ?? '';
  const given = optionalFlag(flags, 'format') ?? ENDINGS.get(ending) ?? ending;
  const format = FORMATS.find((one) => one === given);
  if (format === undefined) {
    throw new CommandError(
      `--format must be one of ${FORMATS.join(', ')}, not ${given || 'nothing'}`,
      EXIT.usage,
    );
  }
  if (flags.has('ids') && !flags.has('distance')) {
    throw new CommandError('--ids needs --distance, which creates the collection', EXIT.usage);
  }
  const payload = optionalFlag(flags, 'payload');
  const isVectors = !['jsonl', 'csv', 'parquet'].includes(format);
  if (isVectors && payload !== undefined && !existsSync(payload)) {
    throw new CommandError(`There is no file ${payload}`);
  }
  return {
    file,
    format,
    collection,
    mapping: isVectors ? undefined : mappingOf(flags, format, payload),
    isMapped: COLUMN_FLAGS.some((name) => flags.has(name)),
    payloads: isVectors ? payload : undefined,
  };
}

function identityOf(
  config: Config,
  flags: GivenFlags,
  order: Order,
): ConstructorParameters<typeof ResumeState>[0] {
  const { file, collection, format, payloads } = order;
  const columns = Object.fromEntries(COLUMN_FLAGS.map((name) => [name, optionalFlag(flags, name)]));
  return { file, collection, target: targetOf(config, flags), format, columns, payloads };
}

function mappingOf(flags: GivenFlags, format: Format, payload: string | undefined): Mapping | undefined {
  const [id, vector] = [optionalFlag(flags, 'id'), optionalFlag(flags, 'vector')];
  if (format === 'jsonl' && id === undefined && vector === undefined) {
    if (payload !== undefined) {
      throw new CommandError('--payload needs --vector: without it each line is a whole point', EXIT.usage);
    }
    return undefined;
  }
  const vectors = parseVectorColumns(vector ?? VECTOR_COLUMN);
  if (vectors === undefined) {
    throw new CommandError(
      `--vector must be COLUMN, or FIELD=COLUMN,FIELD=COLUMN, not ${vector ?? ''}`,
      EXIT.usage,
    );
  }
  return { id, vectors, payload: payload?.split(',').map((name) => name.trim()) };
}

/** The source of an order. `hasStrings` says that the ids of the collection are strings (C21). */
async function sourceOf(order: Order, hasStrings = false): Promise<Source> {
  const { file, format, isMapped, payloads } = order;
  const ids: StringIds | undefined = !hasStrings ? undefined : format === 'csv' ? 'text' : 'typed';
  const mapping = order.mapping && { ...order.mapping, ids };
  if (mapping === undefined && format !== 'jsonl') {
    const { VectorFile } = await import('../transfer/vectors.js');
    return explainedSource(() => new VectorFile(file, format, payloads));
  }
  if (mapping !== undefined && format === 'csv') {
    const { CsvFile } = await import('../transfer/csv.js');
    return new CsvFile(file, mapping);
  }
  if (mapping !== undefined && format === 'parquet') {
    const { ParquetFile } = await import('../transfer/parquet.js');
    return new ParquetFile(file, mapping, isMapped);
  }
  const { JsonLines } = await import('../transfer/jsonl.js');
  return new JsonLines(file, mapping, ids);
}

function explainedSource(make: () => Source): Source {
  try {
    return make();
  } catch (error) {
    throw new CommandError((error as Error).message);
  }
}

/** Reads every row and stores none. Resolves with the number of those that are points for the collection. */
async function dryRun(config: Config, flags: GivenFlags, order: Order, rejects: Rejects): Promise<number> {
  const expected = await expectedBy(config, flags, order);
  const source = await sourceOf(order, expected.hasStringIds);
  return pointsAmong(source, expected, rejects).catch((error: unknown) => {
    throw explained(error);
  });
}

async function pointsAmong(source: Source, expected: Expected, rejects: Rejects): Promise<number> {
  const { problemOf } = await import('../transfer/check.js');
  let points = 0;
  for await (const row of source.rows(0)) {
    if (isRejected(row)) {
      rejects.add(row);
      continue;
    }
    const text = String(row.json);
    const reason = problemOf(text, expected);
    if (reason === undefined) points += 1;
    else rejects.add({ ...row, text, reason });
  }
  return points;
}

/** What the points have to fit: the collection where it is there, one with the vectors of the first row otherwise. */
async function expectedBy(config: Config, flags: GivenFlags, order: Order): Promise<Expected> {
  const { expectedOf, expectedOfNew } = await import('../transfer/check.js');
  // A folder without data is not opened: that would make some.
  const isThere = ['log', 'catalog'].some((name) => existsSync(join(config.dataDir, name)));
  const known =
    serverUrl(flags) !== undefined || isThere
      ? await withService(config, flags, (service) => expectedOf(service, order.collection))
      : undefined;
  if (known !== undefined) return known;
  try {
    return await expectedOfNew(await sourceOf(order), optionalFlag(flags, 'ids'), flags.has('distance'));
  } catch (error) {
    throw explained(error);
  }
}

/** An import that stores points. */
interface Storing {
  readonly order: Order;
  readonly rejects: Rejects;
  readonly state: ResumeState;
  /** How far an interrupted import was, with which this one goes on. */
  readonly reached: Reached | undefined;
  readonly console: Console;
}

async function importInto(config: Config, flags: GivenFlags, storing: Storing): Promise<number> {
  const source = await sourceOf(storing.order);
  // Without a distance there must be a collection already.
  if (flags.has('distance')) makeDataDir(config, flags);
  return withService(config, flags, (service) => send(service, storing, source, flags));
}

async function send(
  service: Transport,
  { order, rejects, state, reached, console }: Storing,
  read: Source,
  flags: GivenFlags,
): Promise<number> {
  const { prepareCollection } = await import('../transfer/prepare.js');
  const { importPoints } = await import('../transfer/import.js');
  const { file, collection } = order;
  const parallel = numberFlag(flags, 'parallel', { lowest: 1, highest: 64, fallback: PARALLEL });
  if (reached !== undefined) await requireStored(service, collection, reached, state);
  const created = { distance: optionalFlag(flags, 'distance'), ids: optionalFlag(flags, 'ids') };
  const hasStrings = await prepareCollection(service, collection, await sourceOf(order), created);
  const source = hasStrings ? await sourceOf(order, true) : read;
  // An older state says nothing of what is stored from here on.
  if (reached === undefined) state.remove();
  const progress = new Progress(console, source.bytes);
  const counted = new CountedRejects(reached?.rejected ?? 0);
  try {
    const stored = await importPoints({
      transport: service,
      collection,
      source,
      from: reached?.next ?? 0,
      batchPoints: BATCH_POINTS,
      batchBytes: BATCH_BYTES,
      parallel,
      reject: (row) => {
        rejects.add(row);
        counted.add(row.ordinal);
      },
      progressed: (points, next) => {
        state.write({ next, rejected: counted.before(next) });
        progress.show(points, source.bytesRead());
      },
    });
    state.remove();
    return stored;
  } catch (error) {
    if (state.isWritten) {
      console.stderr.write(`kithdb: ${file} is imported in part; the same command with --resume goes on\n`);
    }
    throw error;
  } finally {
    progress.end();
  }
}

/** @throws CommandError where the collection has nothing of what the interrupted import has stored */
async function requireStored(
  service: Transport,
  collection: string,
  { next, rejected }: Reached,
  { path }: ResumeState,
): Promise<void> {
  if (next === 0) return;
  const points = await pointsOf(service, collection);
  if (points !== undefined && (points > 0 || next === rejected)) return;
  const what = points === 0 ? 'which has no points' : 'which is not there';
  throw new CommandError(
    `${path} is of an import into ${collection}, ${what}: import the file without --resume, from its first row`,
  );
}

/** How many points a collection has; undefined where there is none of that name. */
async function pointsOf(service: Transport, collection: string): Promise<number | undefined> {
  try {
    const { result } = await service.execute({ operation: 'count', collection, body: { exact: true } });
    return (result as { readonly count: number }).count;
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}
