/** A kind of fault: what a test does to a cluster under load, again and again. */
import type { Missing } from '../../missing';
import { until } from '../../until';
import type { FaultCluster } from './cluster';
import type { Load } from './load';

/** Where faults happen. */
export interface Scene {
  readonly cluster: FaultCluster;
  readonly load: Load;
  /** Decides what the faults are. */
  readonly random: () => number;
}

export interface FaultKind {
  /** As of the plan: L1 to L13. */
  readonly id: string;
  readonly name: string;
  /** How many of them are one case of the suite. */
  readonly count: number;
  /** Why it cannot be done here. */
  readonly missing?: Missing;
  /** Whether the cluster is not used after it. */
  readonly isLast?: boolean;
  /** Whether the log may forget what it had acknowledged. */
  readonly losesRecords?: boolean;
  /** Before the load. */
  readonly prepare?: (cluster: FaultCluster) => Promise<void>;
  /**
   * Makes one fault, and heals it. Resolves with whether it met what it is about: writes under way, or work of a node.
   * @param number from 0 on
   */
  readonly inject: (scene: Scene, number: number) => Promise<boolean>;
  /** What must hold besides what the checker looks at. */
  readonly verify?: (scene: Scene) => void;
}

/** Writes that are acknowledged between two faults. */
const BETWEEN = 20;

/** So many more writes are acknowledged. */
export async function progress({ load }: Scene, count = BETWEEN): Promise<void> {
  const goal = load.acknowledged + count;
  await until(
    () => load.acknowledged >= goal,
    10,
    () => load.counts(),
  );
}

export function oneOf<T>(all: readonly T[], random: () => number): T {
  return all[Math.floor(random() * all.length)]!;
}

/** A whole number from one to another, both included. */
export function between(from: number, to: number, random: () => number): number {
  return from + Math.floor(random() * (to - from + 1));
}
