import type { RecoveryPlan } from '../cluster';
import type { Config, SettingKey } from '../config';
import { reasonOf } from '../files/explained';
import { CommandError, counted, EXIT, type Console, type ExitCode } from './console';
import type { GivenFlags } from './verbs';

/** The settings of the command: how the log servers are reached. */
export const RECOVERY_SETTINGS: readonly SettingKey[] = [
  ...(['config', 'dataDir', 'cluster', 'clusterName', 'clusterLogGroups', 'clusterLogCopies'] as const),
  ...(['natsUser', 'natsPassword', 'natsCredentials', 'natsTlsCa', 'natsTlsCert', 'natsTlsKey'] as const),
];

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
  const { makeMapAnew, requireNode } = await loadCluster();
  const settings = {
    ...{ cluster: cluster.name, nats: cluster.log, groups: cluster.groups, logReplicas: cluster.copies },
    dataDir,
  };
  let plan: RecoveryPlan;
  try {
    // Before the lock, which makes a directory that is not there.
    await requireNode(settings);
    const lock = lockDataDir(dataDir);
    plan = await makeMapAnew(settings, isConfirmed).finally(() => {
      lock.release();
    });
  } catch (error) {
    throw new CommandError(`Cannot make the shard map anew: ${reasonOf(error)}`);
  }
  console.stdout.write(flags.has('json') ? `${jsonOf(plan, isConfirmed)}\n` : textOf(plan, isConfirmed));
  if (isConfirmed) return EXIT.success;
  console.stderr.write('kithdb: nothing was changed: give --yes to do it\n');
  return EXIT.failure;
}

function jsonOf(
  { found, hasRemains, lastSequence, nodes, collections, aliases }: RecoveryPlan,
  done: boolean,
): string {
  const members = {
    found,
    removes_stream: hasRemains,
    last_event: lastSequence,
    nodes,
    collections,
    aliases,
  };
  return JSON.stringify({ ...members, done });
}

function textOf(plan: RecoveryPlan, done: boolean): string {
  const { found, hasRemains, lastSequence, nodes, collections, aliases } = plan;
  const sizes = `${counted(nodes, 'node')}, ${counted(collections.length, 'collection')}, ${counted(aliases, 'alias', 'aliases')}`;
  const lines = [
    `Found: ${found}`,
    ...(hasRemains ? [`${done ? 'Removed' : 'Would be removed'}: that stream`] : []),
    `${done ? 'Made' : 'Would be made'}: a stream that begins with the map after event ${lastSequence}: ${sizes}`,
    ...collections.map((name) => `  collection ${name}`),
    `${done ? 'Lost' : 'Would be lost'}: every change of collections, aliases and nodes after event ${lastSequence}, where there was one; the replicas of collections that the map does not have are removed when their nodes start`,
    ...(done ? ['Start this node, then the others'] : []),
  ];
  return `${lines.join('\n')}\n`;
}
