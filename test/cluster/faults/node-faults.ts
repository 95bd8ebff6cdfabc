/** Faults of nodes: L4, L5, L10 and L12 of the plan. */
import { sleep, until } from '../../until';
import { replicasOf, SHARDS } from './cluster';
import { hasTestingEngine, type DataNode } from './data-node';
import { emptyFolder, filesBelow, flipBit } from './files';
import { between, oneOf, progress, type FaultKind, type Scene } from './kind';

/** What a node says that does not start with the files that it has. */
const REFUSAL = 'Cannot open the data directory';
/** A node that has not come to its point by then is killed as it is. */
const WRITES_TO_POINT = 200;
/** Steps of the engine's background work: see crates/engine/src/storage/crash_points.rs. */
const POINTS = [
  'create MANIFEST.new',
  'moving rows',
  'renamed MANIFEST',
  'cutting the log',
  'create .data',
  'dropping rows',
  'rename MANIFEST',
  'remove .log',
  'remove .data',
];

export const nodeKills: FaultKind = {
  id: 'L4',
  name: 'a node is killed, while it applies records or in its background work',
  count: 12,
  async inject(scene, number) {
    const node = oneOf(scene.cluster.nodes, scene.random);
    const isMet =
      hasTestingEngine && number % 2 === 1 ? await killAtPoint(scene, node) : await killAtRandom(scene, node);
    node.start();
    await scene.cluster.untilReady([node]);
    await progress(scene);
    return isMet;
  },
};

async function killAtRandom({ load, random }: Scene, { child }: DataNode): Promise<boolean> {
  await sleep(random() * 300);
  const isMet = load.underWay > 0;
  await child.kill();
  return isMet;
}

/** Starts the node anew; it ends in the middle of a step, under the load or while it starts, or at last anywhere. */
async function killAtPoint({ load, random }: Scene, node: DataNode): Promise<boolean> {
  const point = `${oneOf(POINTS, random)}:${between(1, 2, random)}`;
  const said = `at the crash point ${point}`;
  const before = node.child.countOf(said);
  await node.child.kill();
  node.start(point);
  const last = load.acknowledged + WRITES_TO_POINT;
  await until(
    () => !node.child.isRunning || load.acknowledged > last,
    20,
    () => point,
  );
  node.child.signal('SIGKILL');
  expect(await node.child.exit).toEqual({ code: null, signal: 'SIGKILL' });
  return node.child.countOf(said) > before;
}

/** Every second time the node keeps who it is, and the replicas of the map are its own; else it is another node. */
export const wipes: FaultKind = {
  id: 'L5',
  name: 'a node loses its directory',
  count: 2,
  async inject(scene, number) {
    const { cluster, load, random } = scene;
    const node = oneOf(cluster.nodes, random);
    const { dataDir } = node.settings;
    await node.child.kill();
    const isMet = filesBelow(dataDir, /./).length > 0;
    emptyFolder(dataDir, number % 2 === 0 ? ['cluster.json'] : []);
    node.start();
    await cluster.untilReady([node]);
    const id = cluster.numberOf(load.collection);
    await until(async () => replicasOf(id, node.name, (await node.replicas()) ?? []).length === SHARDS, 100);
    await progress(scene);
    return isMet;
  },
};

export const replicaFlips: FaultKind = {
  id: 'L10',
  name: 'bits flip in files of a replica',
  count: 3,
  async inject(scene) {
    const { cluster, random } = scene;
    const node = oneOf(cluster.nodes, random);
    await node.child.kill();
    const files = filesBelow(node.settings.dataDir, /collections.*\.data$|\.log$/);
    for (let flips = between(1, 3, random); flips > 0 && files.length > 0; flips -= 1) {
      flipBit(oneOf(files, random), random);
    }
    await startOrEmpty(scene, node);
    await progress(scene);
    return files.length > 0;
  },
};

/** Starts a node. One that refuses to, because its list of collections is damaged, is emptied, as its operator would do. */
async function startOrEmpty({ cluster }: Scene, node: DataNode): Promise<void> {
  const before = node.child.countOf(REFUSAL);
  node.start();
  await until(async () => !node.child.isRunning || (await node.replicas()) !== undefined, 50);
  if (node.child.countOf(REFUSAL) > before) emptyFolder(node.settings.dataDir, ['cluster.json']);
  await cluster.untilReady([node]);
}

export const rollingRestarts: FaultKind = {
  id: 'L12',
  name: 'all nodes are restarted, one after the other, in order',
  count: 1,
  async inject(scene) {
    const { cluster, load } = scene;
    // Between two requests of its clients the load has none under way.
    await until(() => load.underWay > 0, 1);
    for (const node of cluster.nodes) {
      node.child.signal('SIGTERM');
      expect(await node.child.exit).toEqual({ code: 0, signal: null });
      node.start();
      await cluster.untilReady([node]);
      await progress(scene);
    }
    return true;
  },
  verify({ load }) {
    expect(load.writes.filter(({ outcome }) => outcome !== 'acknowledged')).toEqual([]);
  },
};
