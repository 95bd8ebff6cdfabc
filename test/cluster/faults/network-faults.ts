/** Faults between processes: L3 and L6 of the plan. */
import { sleep } from '../../until';
import { between, oneOf, progress, type FaultKind, type Scene } from './kind';
import type { Link, Passage } from './link';

const ONE_WAY: readonly Passage[] = ['of the client', 'of the server'];

export const partitions: FaultKind = {
  id: 'L3',
  name: 'a log server or a node is cut off, in one direction or in both',
  count: 4,
  async inject(scene) {
    const { random } = scene;
    const links = random() < 0.5 ? linksOfLogServer(scene) : linksOfNode(scene);
    const passage = random() < 0.5 ? 'none' : oneOf(ONE_WAY, random);
    const isMet = links.some(({ connections }) => connections > 0);
    for (const link of links) link.let(passage);
    await sleep(between(500, 6000, random));
    // What was held up comes through, or its connection ends.
    const isCut = random() < 0.5;
    for (const link of links) {
      if (isCut) link.cut();
      link.let('both');
    }
    await progress(scene);
    return isMet;
  },
};

/** The links over which a log server and the others, and the nodes, reach each other. */
function linksOfLogServer({ cluster: { logs, nodes }, random }: Scene): readonly Link[] {
  const server = oneOf(logs.servers, random);
  const { from, to } = logs.routesOf(server);
  const number = logs.servers.indexOf(server);
  return [...from, ...to, ...nodes.map(({ links }) => links.logs[number]!)];
}

/** The links of a node to the log servers, and those over which other nodes reach it; it still reaches them. */
function linksOfNode({ cluster: { nodes }, random }: Scene): readonly Link[] {
  const { links } = oneOf(nodes, random);
  return [...links.logs, links.peers];
}

export const halts: FaultKind = {
  id: 'L6',
  name: 'a node or a log server is halted for one to ten seconds',
  count: 2,
  async inject(scene) {
    const { cluster, load, random } = scene;
    const { child } = oneOf([...cluster.nodes, ...cluster.logs.servers], random);
    const isMet = load.underWay > 0;
    child.signal('SIGSTOP');
    await sleep(between(1000, 10_000, random));
    child.signal('SIGCONT');
    await progress(scene);
    return isMet;
  },
};
