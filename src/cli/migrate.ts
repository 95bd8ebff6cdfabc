import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Transport } from '../client/transport';
import type { Config, VerbFlag } from '../config';
import { isWhole, type CollectionOutcome } from '../migration/outcome';
import type { MigrationOutcome } from '../migration/migrate';
import type { MigrationSource } from '../migration/source';
import type { MigrationState } from '../migration/state';
import { counted, CommandError, EXIT, type Console, type ExitCode } from './console';
import { numberFlag, optionalFlag, requiredFlag } from './flags';
import { Progress } from './progress';
import { Rejects } from './rejects';
import { explained, makeDataDir, targetOf, URL_FLAG, withService } from './service';
import type { GivenFlags } from './verbs';

const PARALLEL = 4;
const STATE_FILE = 'kithdb-migration.json';

/** The flags of both commands. */
const FLAGS: readonly VerbFlag[] = [
  {
    name: 'from',
    placeholder: 'URL',
    about:
      'The server that is read; its API key or token is KITHDB_SOURCE_TOKEN or KITHDB_SOURCE_TOKEN_FILE.',
  },
  URL_FLAG,
  {
    name: 'collections',
    placeholder: 'NAMES',
    about: 'Only these collections, separated by commas; all of them otherwise.',
  },
  {
    name: 'dry-run',
    about: 'Says what would be migrated and what would not, and stores nothing.',
  },
  { name: 'resume', about: 'Goes on where a migration of the same servers was interrupted.' },
  {
    name: 'state',
    placeholder: 'FILE',
    about: `Where the progress is noted while it runs; ${STATE_FILE} otherwise.`,
  },
  {
    name: 'rejects',
    placeholder: 'FILE',
    about:
      'Points that are refused go to this file, with the reason, and the migration goes on; without it the first one ends it.',
  },
  {
    name: 'parallel',
    placeholder: 'N',
    about: 'Requests under way at the same time, 4 otherwise.',
  },
  { name: 'json', about: 'Prints the outcome as JSON.' },
];

export const QDRANT_FLAGS: readonly VerbFlag[] = FLAGS;

/** The flags that say which keys of the payload have what is no metadata. */
const RECORD_FLAGS = ['document-key', 'uri-key', 'id-key'] as const;

export const CHROMA_FLAGS: readonly VerbFlag[] = [
  ...FLAGS,
  { name: 'tenant', placeholder: 'NAME', about: 'The tenant of the collections; default_tenant otherwise.' },
  {
    name: 'database',
    placeholder: 'NAME',
    about: 'The database of the collections; default_database otherwise.',
  },
  {
    name: 'document-key',
    placeholder: 'KEY',
    about: 'The key of the payload that gets the documents; document otherwise.',
  },
  { name: 'uri-key', placeholder: 'KEY', about: 'The key of the payload that gets the URIs; uri otherwise.' },
  {
    name: 'id-key',
    placeholder: 'KEY',
    about:
      'The key of the payload that gets an id that is neither a UUID nor a whole number; chroma_id otherwise.',
  },
  { name: 'string-ids', about: 'Ids stay the texts that they are: new collections have string ids.' },
];

/** `kithdb migrate qdrant`: the collections of a Qdrant server. */
export function migrateQdrant(config: Config, console: Console, flags: GivenFlags): Promise<ExitCode> {
  return migrateFrom(config, console, flags, async (url) => {
    const { QdrantSource } = await import('../migration/qdrant.js');
    return { kind: 'qdrant', source: new QdrantSource(url, config.sourceToken) };
  });
}

/** `kithdb migrate chroma`: the collections of a Chroma server. */
export function migrateChroma(config: Config, console: Console, flags: GivenFlags): Promise<ExitCode> {
  return migrateFrom(config, console, flags, async (url) => {
    const { ChromaSource } = await import('../migration/chroma.js');
    const { RECORD_KEYS } = await import('../migration/chroma-record.js');
    const options = {
      tenant: optionalFlag(flags, 'tenant') ?? 'default_tenant',
      database: optionalFlag(flags, 'database') ?? 'default_database',
      documentKey: optionalFlag(flags, 'document-key') ?? RECORD_KEYS.documentKey,
      uriKey: optionalFlag(flags, 'uri-key') ?? RECORD_KEYS.uriKey,
      idKey: optionalFlag(flags, 'id-key') ?? RECORD_KEYS.idKey,
      keepsIds: flags.has('string-ids'),
    };
    const source = new ChromaSource(url, config.sourceToken, options);
    // With other flags a record would be another point.
    const mapping = [...RECORD_FLAGS, 'string-ids']
      .filter((name) => flags.has(name))
      .map((name) => ` --${name} ${optionalFlag(flags, name) ?? ''}`.trimEnd());
    return { kind: `chroma/${options.tenant}/${options.database}${mapping.join('')}`, source };
  });
}

interface Opened {
  /** Stands for the kind of the source in the state. */
  readonly kind: string;
  readonly source: MigrationSource;
}

async function migrateFrom(
  config: Config,
  console: Console,
  flags: GivenFlags,
  open: (url: string) => Promise<Opened>,
): Promise<ExitCode> {
  const from = requiredFlag(flags, 'from', 'URL');
  if (!URL.canParse(from) || !/^https?:/.test(from)) {
    throw new CommandError(`--from must be a URL such as http://127.0.0.1:6333, not ${from}`, EXIT.usage);
  }
  const { kind, source } = await open(from);
  try {
    const isDry = flags.has('dry-run');
    const outcome = isDry
      ? await dryRunInScratch(config, flags, source)
      : await run(config, console, flags, source, `${kind} ${from}`);
    if (flags.has('json')) {
      console.stdout.write(`${JSON.stringify(outcome)}\n`);
    } else {
      report(console, outcome, isDry);
    }
    return exitCodeOf(outcome, isDry);
  } finally {
    await source.close();
  }
}

async function run(
  config: Config,
  console: Console,
  flags: GivenFlags,
  source: MigrationSource,
  identity: string,
): Promise<MigrationOutcome> {
  const { chosenNames, migrate } = await import('../migration/migrate.js');
  const { MigrationState } = await import('../migration/state.js');
  const to = targetOf(config, flags);
  const state = new MigrationState(optionalFlag(flags, 'state') ?? STATE_FILE, identity, to);
  const isResumed = flags.has('resume') && state.isWritten;
  if (isResumed) resume(state);
  const rejects = new Rejects(console, optionalFlag(flags, 'rejects'), false);
  const watch = new Watch(console, rejects);
  const work = async (target: Transport): Promise<MigrationOutcome> => {
    const names = await chosenNames(source, optionalFlag(flags, 'collections'));
    const parallel = numberFlag(flags, 'parallel', { lowest: 1, highest: 64, fallback: PARALLEL });
    const outcome = await migrate(source, names, target, state, watch, parallel);
    state.remove();
    rejects.finish();
    return outcome;
  };
  try {
    if (isResumed) await rejects.resume(state.rejected);
    makeDataDir(config, flags);
    return await withService(config, flags, work);
  } catch (error) {
    if (state.isNoted) {
      console.stderr.write(
        'kithdb: the collections are migrated in part; the same command with --resume goes on\n',
      );
    }
    throw error;
  } finally {
    watch.end();
    rejects.close();
  }
}

/** @throws CommandError when the state is of another migration */
function resume(state: MigrationState): void {
  try {
    state.resume();
  } catch (error) {
    throw explained(error);
  }
}

/** Makes empty collections like those of the source in a folder for temporary files. */
async function dryRunInScratch(
  config: Config,
  flags: GivenFlags,
  source: MigrationSource,
): Promise<MigrationOutcome> {
  const { chosenNames, dryRun } = await import('../migration/migrate.js');
  const scratch = mkdtempSync(join(tmpdir(), 'kithdb-dry-run-'));
  const withoutUrl = new Map([...flags].filter(([name]) => name !== 'url'));
  try {
    return await withService({ ...config, dataDir: scratch }, withoutUrl, async (target) =>
      dryRun(source, await chosenNames(source, optionalFlag(flags, 'collections')), target),
    );
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Shows the progress of each collection. */
class Watch {
  #shown: { readonly name: string; readonly progress: Progress } | undefined;

  constructor(
    private readonly console: Console,
    private readonly rejects: Rejects,
  ) {}

  readonly reject = (collection: string, row: Parameters<Rejects['add']>[0]): void => {
    this.rejects.add({ ...row, place: `${collection}, ${row.place}` });
  };

  readonly progressed = (
    { name, points }: { readonly name: string; readonly points: number },
    done: number,
    all: number,
  ): void => {
    if (this.#shown?.name !== name) {
      this.end();
      this.#shown = { name, progress: new Progress(this.console, points, `${name}: `) };
    }
    this.#shown.progress.show(done, all);
  };

  readonly finished = (): void => {
    this.end();
  };

  end(): void {
    this.#shown?.progress.end();
    this.#shown = undefined;
  }
}

/** Ids that are named of points that differ. */
const NAMED_IDS = 10;

function report(
  { stdout }: Console,
  { source, collections, aliases, leftBehind }: MigrationOutcome,
  isDry: boolean,
): void {
  for (const outcome of collections) {
    stdout.write(`${outcome.name}: ${summaryOf(outcome, isDry)}\n`);
    for (const remark of outcome.remarks) stdout.write(`  ${remark}\n`);
  }
  if (aliases.source > 0) stdout.write(`${aliasSummary(aliases, isDry)}\n`);
  for (const sentence of leftBehind) stdout.write(`${sentence}\n`);
  stdout.write(
    `${counted(collections.length, 'collection')} of ${source}. Tokens and users are not migrated.\n`,
  );
}

function summaryOf(outcome: CollectionOutcome, isDry: boolean): string {
  const { points, stored, rejected, indexes, compared, failure } = outcome;
  if (failure !== undefined) return `not migrated: ${failure}`;
  const parts = [isDry ? `${counted(points, 'point')} to copy` : `${counted(stored, 'point')} stored`];
  if (rejected > 0) parts.push(`${rejected} rejected`);
  if (indexes > 0) parts.push(counted(indexes, 'payload index').replace(/indexs$/, 'indexes'));
  if (compared !== undefined) {
    const { source, target, sampled, different } = compared;
    if (source !== target) parts.push(`the source has ${source}`);
    parts.push(
      different.length === 0
        ? `${sampled} compared, all the same`
        : `${different.length} of ${sampled} compared differ: ${different.slice(0, NAMED_IDS).join(', ')}`,
    );
  }
  return parts.join(', ');
}

function aliasSummary({ source, target }: MigrationOutcome['aliases'], isDry: boolean): string {
  const counts = target === source ? '' : `, the source has ${source}`;
  return `${counted(target, 'alias').replace(/aliass$/, 'aliases')} ${isDry ? 'to make' : 'made'}${counts}`;
}

function exitCodeOf({ collections, aliases }: MigrationOutcome, isDry: boolean): ExitCode {
  const isDone = isDry ? ({ failure }: CollectionOutcome) => failure === undefined : isWhole;
  return collections.every(isDone) && aliases.target === aliases.source ? EXIT.success : EXIT.reservations;
}
