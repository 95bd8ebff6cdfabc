import { settingsReference, type Config, type SettingKey, type VerbFlag } from '../config';
import { productVersion } from '../system/version';
import { adminRepair } from './admin-repair';
import { backup } from './backup';
import { BENCH_FLAGS, bench } from './bench';
import { ENDPOINT_FLAG } from './bucket';
import { clusterCertificates } from './certificates';
import { CLONE_FLAGS, cloneCollection } from './clone';
import { listCollections } from './collections';
import { check } from './check';
import { completionScript } from './completion';
import { fishScript } from './completion-fish';
import type { Console, ExitCode } from './console';
import { doctor } from './doctor';
import { EXPORT_FLAGS, exportCollection } from './export';
import { health } from './health';
import { overview } from './help';
import { IMPORT_FLAGS, importFile } from './import';
import { INIT_FLAGS, INIT_SETTINGS, init } from './init';
import { CHROMA_FLAGS, migrateChroma, migrateQdrant, QDRANT_FLAGS } from './migrate';
import { QUERY_FLAGS, query } from './query';
import { commandReference } from './reference';
import { MCP_FLAGS, mcp } from './mcp';
import { REEMBED_FLAGS, reembed } from './reembed';
import { RECOVERY_SETTINGS, recoverClusterMap } from './recover-map';
import { repair } from './repair';
import { createAdmin, resetPassword } from './admin-password';
import { restore } from './restore';
import { rotateSecret } from './rotate-secret';
import { serve } from './serve';
import { SERVICE_SETTINGS, TEXT_SETTINGS, URL_FLAG } from './service';
import { TOKEN_VERBS } from './token-verbs';

/** The flags of a verb that are not settings, with their values; true for a switch. */
export type GivenFlags = ReadonlyMap<string, string | true>;

/** One command. */
export type Verb = {
  /** One or more words. */
  readonly name: string;
  readonly about: string;
  /** Flags beside the settings. */
  readonly flags?: readonly VerbFlag[];
  /** The flag whose value may also stand behind the verb, without the flag. */
  readonly argument?: string;
  /** What to say of a word behind the verb that it does not take. */
  readonly alone?: string;
  /** The meaning of its exit codes, where it differs from that of every command. */
  readonly exitCodes?: string;
  /** The few settings that it uses and its help lists; all of them when absent. */
  readonly settings?: readonly SettingKey[];
} & (
  | {
      readonly usesSettings: true;
      /** The exit code, when it is not that of a success. */
      readonly run: (config: Config, console: Console, flags: GivenFlags) => Promise<ExitCode | undefined>;
    }
  | { readonly usesSettings: false; readonly run: (console: Console) => void }
);

const MIGRATION_EXIT_CODES =
  'Exit codes: 0 all is there, 1 not migrated or in part, 2 wrong arguments, 3 migrated but for what is named: a collection that cannot be made, points that are refused or differ.';
const MIGRATION_SETTINGS = [...SERVICE_SETTINGS, 'sourceToken'] as const;
const JSON_FLAG: VerbFlag = { name: 'json', about: 'Prints the outcome as JSON.' };

/** Every command, the default one first. */
export const VERBS: readonly Verb[] = [
  {
    name: 'serve',
    about: 'Serves the data directory over HTTP (the default).',
    usesSettings: true,
    run: serve,
  },
  {
    name: 'init',
    about:
      'Makes a settings file, a first access token in a file of its own, and an empty data directory. It replaces nothing: where one of them is there, none is made.',
    flags: INIT_FLAGS,
    settings: INIT_SETTINGS,
    usesSettings: true,
    run: init,
  },
  {
    name: 'doctor',
    about:
      'Says what a server of these settings finds on this machine, and what to change: processor, memory, limits, disk and its syncs, SQLite, port, certificate, authentication. It writes one file of 256 KiB, which it removes.',
    exitCodes:
      'Exit codes: 0 nothing to change, 1 a server would not start or not keep its promises, 2 wrong arguments or settings, 3 it works, and there is advice.',
    flags: [{ name: 'json', about: 'Prints the findings as JSON.' }],
    usesSettings: true,
    run: doctor,
  },
  {
    name: 'admin create',
    about:
      'Creates the admin where there is none, also while a server serves the data directory; the password is from KITHDB_ADMIN_PASSWORD[_FILE], the terminal or standard input.',
    flags: [JSON_FLAG],
    settings: ['config', 'dataDir', 'tokenStore', 'adminPassword'],
    usesSettings: true,
    run: createAdmin,
  },
  {
    name: 'admin reset-password',
    about:
      'Sets a new admin password, also while a server serves the data directory; from KITHDB_ADMIN_PASSWORD[_FILE], the terminal or standard input.',
    flags: [JSON_FLAG],
    settings: ['config', 'dataDir', 'tokenStore', 'adminPassword'],
    usesSettings: true,
    run: resetPassword,
  },
  {
    name: 'admin rotate-secret',
    about:
      'Replaces the JWT secret, also while a server serves the data directory: every login from before is invalid. A secret that comes from a setting is replaced there.',
    flags: [JSON_FLAG],
    settings: ['config', 'dataDir', 'tokenStore', 'jwtSecret'],
    usesSettings: true,
    run: rotateSecret,
  },
  {
    name: 'admin repair',
    about:
      'Keeps what verifies of a damaged store of authentication while the server is stopped, drops the rest, and leaves authentication enabled.',
    flags: [
      {
        name: 'older-store',
        about:
          'Takes a store that is older than the catalog of the engine, as one from a backup: what was deleted or replaced since works again.',
      },
      JSON_FLAG,
    ],
    settings: ['config', 'dataDir', 'tokenStore'],
    usesSettings: true,
    run: adminRepair,
  },
  {
    name: 'cluster certificates',
    about:
      'Makes certificates for the nodes of a cluster (--cluster-name): an authority, ca.pem and ca.key, and node-1.pem and node-1.key and so on, which it signs for 825 days. What is there stays. The key of the authority belongs to no node: keep it elsewhere.',
    flags: [
      {
        name: 'to',
        placeholder: 'FOLDER',
        about: 'Where the files go; an authority that is there signs for further nodes.',
      },
      { name: 'nodes', placeholder: 'N', about: 'For how many nodes; 3 unless given.' },
      JSON_FLAG,
    ],
    settings: ['config', 'clusterName'],
    usesSettings: true,
    run: clusterCertificates,
  },
  {
    name: 'cluster recover-map',
    about:
      'Makes the shard map of a cluster anew where the log servers have lost it for good, of what the node of the data directory has saved of it. All nodes have to be stopped, and this is the one that has read the most.',
    exitCodes: 'Exit codes: 0 made, 1 not made, or --yes is missing; 2 wrong arguments or settings.',
    flags: [
      { name: 'yes', about: 'Does it: without this flag it says what would be done and lost.' },
      JSON_FLAG,
    ],
    settings: RECOVERY_SETTINGS,
    usesSettings: true,
    run: recoverClusterMap,
  },
  ...TOKEN_VERBS,
  {
    name: 'check',
    about: 'Verifies a data directory that no server has open, without changing it.',
    exitCodes: 'Exit codes: 0 sound, 1 something was found, 2 wrong arguments, or it cannot be checked.',
    flags: [
      { name: 'json', about: 'Prints the report as JSON.' },
      {
        name: 'collection',
        placeholder: 'NAME',
        about: 'Checks this collection only, with catalog and log.',
      },
    ],
    settings: ['config', 'dataDir', 'tokenStore'],
    usesSettings: true,
    run: check,
  },
  {
    name: 'backup',
    about: 'Copies a data directory, also while a server serves it, into a new folder.',
    exitCodes:
      'Exit codes: 0 made, 1 not made, 2 wrong arguments or settings, 3 made of data some of which are damaged.',
    flags: [
      {
        name: 'to',
        placeholder: 'FOLDER',
        about:
          'Where the backup goes: a new or empty folder. With --keep: a folder of backups, or s3://BUCKET/PREFIX (needs the package @aws-sdk/client-s3).',
      },
      {
        name: 'keep',
        placeholder: 'N',
        about:
          'Makes the backup in the folder of --to, under the time as its name, and then removes all whole ones but the newest N. Where data are damaged nothing is removed.',
      },
      ENDPOINT_FLAG,
      {
        name: 'work',
        placeholder: 'FOLDER',
        about:
          'Where a backup for s3:// is made before it is sent: room for one; the folder for temporary files unless given.',
      },
      {
        name: 'base',
        placeholder: 'FOLDER',
        about: 'An earlier backup on the same file system: what has not changed is linked to it, not copied.',
      },
      { name: 'json', about: 'Prints the outcome as JSON.' },
    ],
    settings: ['config', 'dataDir', 'tokenStore'],
    usesSettings: true,
    run: backup,
  },
  {
    name: 'restore',
    about:
      'Makes a data directory of a backup, verifying every file before and after it is copied. It goes where kithdb serve looks for it, --data-dir says otherwise, and must be new or empty.',
    flags: [
      {
        name: 'from',
        placeholder: 'FOLDER',
        about: 'The backup; or s3://BUCKET/PREFIX/NAME (needs the package @aws-sdk/client-s3).',
      },
      ENDPOINT_FLAG,
      {
        name: 'work',
        placeholder: 'FOLDER',
        about:
          'Where a backup of s3:// is kept until it is restored: room for one; the folder for temporary files unless given.',
      },
      {
        name: 'without-auth',
        about:
          'Restores no store of authentication, which the backup may lack: authentication begins as at a first start.',
      },
      { name: 'json', about: 'Prints the outcome as JSON.' },
    ],
    settings: ['config', 'dataDir', 'tokenStore'],
    usesSettings: true,
    run: restore,
  },
  {
    name: 'repair',
    about:
      'Keeps what verifies of a damaged data directory that no server has open, names what is lost, and sets aside what it replaces.',
    exitCodes:
      'Exit codes: 0 sound, repaired, or said with --dry-run; 1 not repaired, or --yes is missing; 2 wrong arguments.',
    flags: [
      { name: 'dry-run', about: 'Says what would be done, and changes nothing.' },
      { name: 'yes', about: 'Does it: without this flag nothing is changed.' },
      { name: 'json', about: 'Prints the outcome as JSON.' },
    ],
    settings: ['config', 'dataDir'],
    usesSettings: true,
    run: repair,
  },
  {
    name: 'import',
    about:
      'Makes points of the rows of a file: JSONL, CSV, Parquet, .npy, .fvecs, .bvecs or .ivecs. Each request is all or nothing; a row with an id that exists replaces that point.',
    exitCodes:
      'Exit codes: 0 all rows are stored, 1 not imported or in part, 2 wrong arguments, 3 stored but for the rejected rows.',
    flags: IMPORT_FLAGS,
    argument: 'file',
    settings: TEXT_SETTINGS,
    usesSettings: true,
    run: importFile,
  },
  {
    name: 'export',
    about: 'Writes the points of a collection as JSONL or Parquet, as kithdb import reads it.',
    flags: EXPORT_FLAGS,
    argument: 'collection',
    settings: SERVICE_SETTINGS,
    usesSettings: true,
    run: exportCollection,
  },
  {
    name: 'migrate qdrant',
    about:
      'Copies the collections of a running Qdrant server, or of another KithDB: configuration, points and payload indexes. What cannot be taken is named.',
    exitCodes: MIGRATION_EXIT_CODES,
    flags: QDRANT_FLAGS,
    settings: MIGRATION_SETTINGS,
    usesSettings: true,
    run: migrateQdrant,
  },
  {
    name: 'migrate chroma',
    about:
      'Copies the collections of a running Chroma server (0.6 or later): configuration, embeddings, documents and metadata. What cannot be taken is named.',
    exitCodes: MIGRATION_EXIT_CODES,
    flags: CHROMA_FLAGS,
    settings: MIGRATION_SETTINGS,
    usesSettings: true,
    run: migrateChroma,
  },
  {
    name: 'collections',
    about: 'Lists the collections with their status and the number of their points.',
    alone:
      'it lists them; they are made by kithdb import --distance, over HTTP (PUT /collections/NAME) and in the console, and deleted over HTTP and in the console',
    flags: [URL_FLAG, { name: 'json', about: 'Prints them as JSON.' }],
    settings: SERVICE_SETTINGS,
    usesSettings: true,
    exitCodes:
      'Exit codes: 0 success, 1 failure, 2 wrong arguments, 3 listed, and shards of some collections cannot be asked: their points are those of the other shards.',
    run: listCollections,
  },
  {
    name: 'collections clone',
    about:
      'Makes a collection of the same state under another name, by hard links where the file system has them.',
    flags: CLONE_FLAGS,
    argument: 'collection',
    settings: SERVICE_SETTINGS,
    usesSettings: true,
    run: cloneCollection,
  },
  {
    name: 'reembed',
    about:
      'Embeds a vector of a collection anew with another model, and shows how far it is, until every text is embedded. Interrupted, it goes on in the server; called again, it shows that one.',
    exitCodes:
      'Exit codes: 0 done, 1 not done, 2 wrong arguments, 3 every text is embedded, and points without a text keep the commit from happening.',
    flags: REEMBED_FLAGS,
    argument: 'collection',
    settings: TEXT_SETTINGS,
    usesSettings: true,
    run: reembed,
  },
  {
    name: 'query',
    about:
      'Finds points: those nearest to a point or a vector, or without either the first ones by their ids, as a table.',
    flags: QUERY_FLAGS,
    argument: 'collection',
    settings: TEXT_SETTINGS,
    usesSettings: true,
    run: query,
  },
  {
    name: 'mcp',
    about:
      'Serves the data to language models: an MCP server on standard input and output, over the server of --url or the data directory. It needs the package @kithdb/mcp.',
    flags: MCP_FLAGS,
    settings: TEXT_SETTINGS,
    usesSettings: true,
    run: mcp,
  },
  {
    name: 'bench',
    about:
      'Measures rates, latencies and recall of a closed loop of clients in this process: ingest and searches of a collection of its own, or searches of an existing one.',
    flags: BENCH_FLAGS,
    argument: 'collection',
    settings: SERVICE_SETTINGS,
    usesSettings: true,
    run: bench,
  },
  {
    name: 'health',
    about:
      'Asks the server that the environment and the file of --config describe, on this machine, whether it is ready.',
    exitCodes: 'Exit codes: 0 ready, 1 not ready, 2 wrong arguments or settings.',
    flags: [JSON_FLAG],
    settings: ['config', 'host', 'port', 'tlsCert', 'tlsKey'],
    usesSettings: true,
    run: health,
  },
  {
    name: 'help',
    about: 'Shows this.',
    usesSettings: false,
    run: ({ stdout }) => {
      stdout.write(overview(VERBS));
    },
  },
  {
    name: 'help configuration',
    about: 'Prints the reference of all settings as Markdown.',
    usesSettings: false,
    run: ({ stdout }) => {
      stdout.write(settingsReference());
    },
  },
  {
    name: 'help commands',
    about: 'Prints the reference of all commands as Markdown.',
    usesSettings: false,
    run: ({ stdout }) => {
      stdout.write(commandReference(VERBS));
    },
  },
  ...['', ' bash', ' zsh'].map((shell): Verb => ({
    name: `completion${shell}`,
    about:
      shell === ''
        ? 'Prints the script with which bash and zsh complete verbs and flags: source <(kithdb completion), or with the name of the shell behind it.'
        : `Prints the same script: source <(kithdb completion${shell})`,
    usesSettings: false,
    run: ({ stdout }) => {
      stdout.write(completionScript(VERBS));
    },
  })),
  {
    name: 'completion fish',
    about: 'Prints the script with which fish completes verbs and flags: kithdb completion fish | source',
    usesSettings: false,
    run: ({ stdout }) => {
      stdout.write(fishScript(VERBS));
    },
  },
  {
    name: 'version',
    about: 'Prints the version.',
    usesSettings: false,
    run: ({ stdout }) => {
      stdout.write(`${productVersion()}\n`);
    },
  },
];
