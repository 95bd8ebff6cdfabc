/** L7 of the plan: disks are full. */
import { whyNoTmpfs } from '../../missing';
import { sleep } from '../../until';
import type { FaultCluster } from './cluster';
import { between, progress, type FaultKind, type Scene } from './kind';
import { SmallDisk } from './small-disk';

const NODE_MB = 96;
const LOG_MB = 256;
const STORE_MB = 64;

/** The disks of the cluster, by what is on them. */
interface Disks {
  readonly nodes: readonly SmallDisk[];
  readonly logs: readonly SmallDisk[];
  readonly store: SmallDisk;
}

const disksOf = new WeakMap<FaultCluster, Disks>();

/** In turn one node's, one log server's, the store's, all nodes' and all log servers'. */
const TURNS: readonly ((disks: Disks) => readonly SmallDisk[])[] = [
  ({ nodes }) => nodes.slice(0, 1),
  ({ logs }) => logs.slice(0, 1),
  ({ store }) => [store],
  ({ nodes }) => nodes,
  ({ logs }) => logs,
];

export const fullDisks: FaultKind = {
  id: 'L7',
  name: 'a disk of a node, a log server or the store is full, or all of a sort are',
  count: 5,
  missing: whyNoTmpfs(),
  isLast: true,
  async prepare(cluster) {
    await Promise.all([...cluster.nodes, ...cluster.logs.servers].map(({ child }) => child.kill()));
    const disks: Disks = {
      nodes: cluster.nodes.map(({ settings }) => SmallDisk.under(settings.dataDir, NODE_MB)),
      logs: cluster.logs.servers.map(({ store }) => SmallDisk.under(store, LOG_MB)),
      store: SmallDisk.under(cluster.store, STORE_MB),
    };
    disksOf.set(cluster, disks);
    cluster.atEnd(() => {
      for (const disk of [...disks.nodes, ...disks.logs, disks.store]) disk.unmount();
    });
    await cluster.heal();
  },
  async inject(scene, number) {
    const { cluster, load, random } = scene;
    const disks = TURNS[number % TURNS.length]!(disksOf.get(cluster)!);
    const isMet = load.underWay > 0;
    for (const disk of disks) disk.fill();
    await sleep(between(2000, 4000, random));
    for (const disk of disks) disk.clear();
    await restartStopped(scene);
    await progress(scene);
    return isMet;
  },
};

/** A log server that stopped to keep records, because its disk was full, does so until it is started again. */
async function restartStopped({ cluster: { logs } }: Scene): Promise<void> {
  for (const server of logs.servers) {
    if (await server.isHealthy()) continue;
    await server.kill();
    server.start();
  }
  await logs.untilHealthy();
}
