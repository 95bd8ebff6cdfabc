import { createWriteStream, rmSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Config, VerbFlag } from '../config';
import { explained as fileReason } from '../files/explained';
import type { Exported, ExportOptions } from '../transfer/export';
import { counted, CommandError, EXIT, type Console, type ExitCode } from './console';
import { optionalFlag, requiredFlag, say } from './flags';
import { jsonFlag } from './json-flag';
import { Progress } from './progress';
import { serverUrl, URL_FLAG, withService } from './service';
import type { GivenFlags } from './verbs';

const PAGE_POINTS = 1000;

/** The flags of `kithdb export`. */
export const EXPORT_FLAGS: readonly VerbFlag[] = [
  URL_FLAG,
  {
    name: 'collection',
    placeholder: 'NAME',
    about: 'The collection whose points are written; it may also stand behind the verb.',
  },
  {
    name: 'to',
    placeholder: 'FILE',
    about: 'Where they go; to standard output otherwise.',
  },
  {
    name: 'format',
    placeholder: 'FORMAT',
    about: 'jsonl (one point a line) or parquet (one a row); the ending of the file says it otherwise.',
  },
  { name: 'filter', placeholder: 'JSON', about: 'Only points that match this filter, or that in a file.' },
  { name: 'without-vectors', about: 'Leaves the vectors out.' },
  {
    name: 'json',
    about: 'Prints the outcome as JSON; only with --to, since standard output has the points otherwise.',
  },
];

/** `kithdb export`: the points of a collection, as JSON or as Parquet. */
export async function exportCollection(
  config: Config,
  console: Console,
  flags: GivenFlags,
): Promise<ExitCode> {
  const collection = requiredFlag(flags, 'collection', 'NAME');
  const to = optionalFlag(flags, 'to');
  const filter = jsonFlag(flags, 'filter');
  const writePoints = await formatOf(flags, to);
  const progress = new Progress(console, 0);
  const needsOneView = serverUrl(flags) === undefined;
  const write = (output: Writable): Promise<Exported> =>
    withService(config, flags, (transport) =>
      writePoints(
        {
          transport,
          collection,
          filter,
          withVectors: !flags.has('without-vectors'),
          pagePoints: PAGE_POINTS,
          needsOneView,
          progressed: (points) => {
            progress.show(points);
          },
        },
        output,
      ),
    ).finally(() => {
      progress.end();
    });
  if (to === undefined) {
    if (flags.has('json')) {
      throw new CommandError('--json needs --to: without it the points are the output', EXIT.usage);
    }
    const { isOneView } = await write(console.stdout);
    if (!isOneView) console.stderr.write(`kithdb: ${NO_SINGLE_VIEW}\n`);
    return EXIT.success;
  }
  const { points, isOneView } = await writeWhole(to, write);
  const ofWhat = isOneView ? 'All are of one view of the collection.' : NO_SINGLE_VIEW;
  say(console, flags, `${counted(points, 'point')} of ${collection} in ${to}. ${ofWhat}`, {
    collection,
    points,
    file: to,
    one_view: isOneView,
  });
  return EXIT.success;
}

const NO_SINGLE_VIEW =
  'Writes during the export may be in it or not: the server kept no view, so the pages are no single one.';

type WritePoints = (options: ExportOptions, output: Writable) => Promise<Exported>;

async function formatOf(flags: GivenFlags, to: string | undefined): Promise<WritePoints> {
  const format = optionalFlag(flags, 'format') ?? (to?.endsWith('.parquet') === true ? 'parquet' : 'jsonl');
  if (format === 'parquet') return (await import('../transfer/parquet-export.js')).exportParquet;
  if (format === 'jsonl') return (await import('../transfer/export.js')).exportLines;
  throw new CommandError(`--format must be jsonl or parquet, not ${format}`, EXIT.usage);
}

/** A file appears under its name when it is whole. */
async function writeWhole(to: string, write: (output: Writable) => Promise<Exported>): Promise<Exported> {
  const partial = `${to}.partial`;
  const output = createWriteStream(partial, { highWaterMark: 1 << 20 });
  const failed = new Promise<never>((_, reject) => output.once('error', reject));
  try {
    const exported = await Promise.race([write(output), failed]);
    output.end();
    await finished(output);
    await rename(partial, to);
    return exported;
  } catch (error) {
    output.destroy();
    rmSync(partial, { force: true });
    // The name of the part would only raise questions.
    const isOfFile = (error as NodeJS.ErrnoException).code !== undefined;
    throw isOfFile ? new CommandError(fileReason(error).replace(partial, to)) : error;
  }
}
