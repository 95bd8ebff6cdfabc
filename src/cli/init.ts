import { open, rm } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { generateToken } from '../auth/access-token';
import { isPrivateAddress } from '../auth/exposure';
import { settingsFile, type Config, type VerbFlag } from '../config';
import { explained } from '../files/explained';
import { makeFolder, syncFolder } from '../files/folder';
import { authority } from '../http/listen';
import { whyUnusable } from '../operations/data-dir';
import { folderState } from '../operations/data-files';
import { CommandError, EXIT, type Console, type ExitCode } from './console';
import { optionalFlag } from './flags';
import type { GivenFlags } from './verbs';

const SETTINGS = 'kithdb.yaml';
const TOKEN = 'access-token';

/** The settings that `kithdb init` writes down. */
export const INIT_SETTINGS = [
  'config',
  'dataDir',
  'host',
  'port',
  'tlsCert',
  'tlsKey',
  'allowFilesystem',
] as const;

/** The flags of `kithdb init`. */
export const INIT_FLAGS: readonly VerbFlag[] = [
  {
    name: 'to',
    placeholder: 'FOLDER',
    about: `Where ${SETTINGS} and ${TOKEN} go; the current folder otherwise.`,
  },
  {
    name: 'without-token',
    about:
      'Makes no access token: everybody on this machine is served, until an admin enables authentication.',
  },
  { name: 'json', about: 'Prints what was made as JSON.' },
];

/** What `kithdb init` makes. */
interface Plan {
  readonly settings: string;
  /** Absent with `--without-token`. */
  readonly token: string | undefined;
  readonly dataDir: string;
}

/**
 * `kithdb init`: a settings file, a first access token in a file of its own, and an empty data directory. It replaces
 * nothing: where one of them is there already, none is made.
 */
export async function init(config: Config, console: Console, flags: GivenFlags): Promise<ExitCode> {
  const folder = resolve(optionalFlag(flags, 'to') ?? '.');
  const plan: Plan = {
    settings: join(folder, SETTINGS),
    token: flags.has('without-token') ? undefined : join(folder, TOKEN),
    dataDir: config.dataDir,
  };
  if (folder === config.dataDir) {
    throw new CommandError(
      '--to and --data-dir must be two folders: nothing else belongs into the data directory',
      EXIT.usage,
    );
  }
  if (plan.token === undefined && !isPrivateAddress(config)) {
    throw new CommandError(
      `--without-token is for a server that only this machine can reach, and ${config.host} is reached by others`,
      EXIT.usage,
    );
  }
  await refuseDataDir(config);
  const made: string[] = [];
  try {
    await makeFolder(folder);
    if (plan.token !== undefined) {
      await writeNew(plan.token, `${generateToken()}\n`, made);
    }
    await writeNew(plan.settings, settingsFile(valuesOf(config, plan.token)), made);
    await makeFolder(config.dataDir);
    await syncFolder(folder);
  } catch (error) {
    for (const path of made) {
      await rm(path, { force: true });
    }
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    throw new CommandError(
      isThere
        ? `${(error as NodeJS.ErrnoException).path ?? ''} is there already, and nothing was made: --to names another folder`
        : `Nothing was made: ${explained(error)}`,
    );
  }
  const url = `${config.tls === undefined ? 'http' : 'https'}://${authority(config.host, config.port)}`;
  console.stdout.write(flags.has('json') ? jsonOf(plan, url) : textOf(plan, url));
  return EXIT.success;
}

/** @throws CommandError where the data directory is none that a first start could use. */
async function refuseDataDir({ dataDir, allowFilesystem }: Config): Promise<void> {
  const unusable = await whyUnusable(dataDir);
  if (unusable !== undefined) {
    throw new CommandError(unusable);
  }
  const state = await folderState(dataDir).catch((error: unknown) => {
    throw new CommandError(explained(error));
  });
  if (state === 'no folder') {
    throw new CommandError(`${dataDir} is no folder: --data-dir names another one`);
  }
  if (state === 'used') {
    throw new CommandError(
      `${dataDir} is not empty, and nothing was made: kithdb serve --data-dir ${dataDir} serves it if it is a data directory; --data-dir names a new one`,
    );
  }
  const { fileSystemOf } = await import('../engine/surroundings.js');
  const { decision, reason } = fileSystemOf(dataDir, allowFilesystem);
  if (decision === 'refuse') {
    throw new CommandError(`${dataDir}: ${reason}`);
  }
}

/** Writes a file that does not exist, for this user only. */
async function writeNew(path: string, text: string, made: string[]): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  made.push(path);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

function valuesOf(config: Config, token: string | undefined): Readonly<Record<string, string | number>> {
  const { host, port, dataDir, tls, allowFilesystem } = config;
  return {
    host,
    port,
    data_dir: dataDir,
    ...(tls !== undefined && { tls_cert: tls.certFile, tls_key: tls.keyFile }),
    ...(token !== undefined && { access_token_file: token }),
    ...(allowFilesystem.length > 0 && { allow_filesystem: allowFilesystem.join(',') }),
  };
}

function jsonOf({ settings, token, dataDir }: Plan, url: string): string {
  return `${JSON.stringify({ settings, access_token_file: token ?? null, data_dir: dataDir, url })}\n`;
}

function textOf({ settings, token, dataDir }: Plan, url: string): string {
  const near = (path: string): string => {
    const short = relative('.', path);
    return short.startsWith('..') || short === '' ? path : short;
  };
  const credential = token === undefined ? '' : `KITHDB_TOKEN_FILE=${near(token)} `;
  return [
    `Made ${near(settings)}, the settings`,
    ...(token === undefined
      ? []
      : [`Made ${near(token)}, the first access token: whoever has it may read and write all data`]),
    `Made ${near(dataDir)}, the data directory, for this user only`,
    '',
    `Look at the machine  kithdb doctor --config ${near(settings)}`,
    `Serve                kithdb serve --config ${near(settings)}`,
    `Ask it               ${credential}kithdb collections --url ${url}`,
    `More access tokens   kithdb token create --config ${near(settings)} --name NAME`,
    'As a service         docs/deployment.md: systemd takes the settings too, and its user must own these files;',
    '                     compose and Kubernetes take the access token only',
    '',
  ].join('\n');
}
