import type { Config, SettingKey } from '../config';
import { CommandError, counted, EXIT, type Console, type ExitCode } from './console';
import type { GivenFlags } from './verbs';

/** The settings of the command: how the log servers are reached. */
export const RECOVERY_SETTINGS: readonly SettingKey[] = [
  ...(['config', 'dataDir', 'cluster', 'clusterName', 'clusterLogGroups', 'clusterLogCopies'] as const),
  ...(['natsUser', 'natsPassword', 'natsCredentials', 'natsTlsCa', 'natsTlsCert', 'natsTlsKey'] as const),
];

/** What the command says of the map; the JSON of `--json`. */
interface Recovery {
  readonly found: string;
  readonly isLeft: boolean;
  readonly lastSequence: number;
  readonly nodes: number;
  readonly collections: readonly string[];
  readonly aliases: number;
}

/** `kithdb cluster recover-map`: a stream of the shard map that the log servers have lost, made anew of what a node has saved. */
export async function recoverClusterMap(
  config: Config,
  console: Console,
  flags: GivenFlags,
): Promise<ExitCode> {
  const { cluster, dataDir } = config;
  if (cluster === undefined) {
    throw new CommandError('--cluster URLS is required: the log servers of the cluster', EXIT.usage);
  }
  const isConfirmed = flags.has('yes');
  const [{ loadCluster }, { lockDataDir }] = await Promise.all([
    import('../startup/cluster.js'),
    import('../engine/offline.js'),
  ]);
  const { makeMapAnew } = await loadCluster();
  const settings = {
    ...{ cluster: cluster.name, nats: cluster.log, groups: cluster.groups, logReplicas: cluster.copies },
    dataDir,
  };
  let plan: Recovery;
  try {
    const lock = lockDataDir(dataDir);
    plan = await makeMapAnew(settings, isConfirmed).finally(() => {
      lock.release();
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`Cannot make the shard map anew: ${reason}`);
  }
  console.stdout.write(flags.has('json') ? `${jsonOf(plan, isConfirmed)}\n` : textOf(plan, isConfirmed));
  if (isConfirmed) return EXIT.success;
  console.stderr.write('kithdb: nothing was changed: give --yes to do it\n');
  return EXIT.failure;
}

function jsonOf(
  { found, isLeft, lastSequence, nodes, collections, aliases }: Recovery,
  done: boolean,
): string {
  const members = { found, removes_stream: isLeft, last_event: lastSequence, nodes, collections, aliases };
  return JSON.stringify({ ...members, done });
}

function textOf(plan: Recovery, done: boolean): string {
  const { found, isLeft, lastSequence, nodes, collections, aliases } = plan;
  const sizes = `${counted(nodes, 'node')}, ${counted(collections.length, 'collection')}, ${counted(aliases, 'alias').replace(/aliass$/, 'aliases')}`;
  const lines = [
    `Found: ${found}`,
    ...(isLeft ? [`${done ? 'Removed' : 'Would be removed'}: that stream`] : []),
    `${done ? 'Made' : 'Would be made'}: a stream that begins with the map after event ${lastSequence}: ${sizes}`,
    ...collections.map((name) => `  collection ${name}`),
    `${done ? 'Lost' : 'Would be lost'}: every change of collections, aliases and nodes after event ${lastSequence}, where there was one; the replicas of collections that the map does not have are removed when their nodes start`,
    ...(done ? ['Start this node, then the others'] : []),
  ];
  return `${lines.join('\n')}\n`;
}
