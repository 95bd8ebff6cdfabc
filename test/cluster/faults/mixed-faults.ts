/** L13 of the plan: faults of all kinds that heal by themselves, two at a time. */
import { clockJumps } from './clock';
import { oneOf, type FaultKind, type Scene } from './kind';
import { leaderKills } from './log-faults';
import { halts, partitions } from './network-faults';
import { nodeKills } from './node-faults';

const MIXED = [leaderKills, nodeKills, partitions, halts, clockJumps].filter(
  ({ missing }) => missing === undefined,
);

export const mixture: FaultKind = {
  id: 'L13',
  name: 'faults of different kinds at the same time',
  count: 3,
  async inject(scene: Scene, number) {
    const first = oneOf(MIXED, scene.random);
    const second = oneOf(
      MIXED.filter((kind) => kind !== first),
      scene.random,
    );
    const met = await Promise.all([first, second].map((kind) => kind.inject(scene, number)));
    return met.includes(true);
  },
};
