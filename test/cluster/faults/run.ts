/** Runs faults of one kind under load, and says what came of it. */
import { seeded } from '../random';
import { check, type Violation } from './checker';
import type { FaultCluster } from './cluster';
import type { FaultKind, Scene } from './kind';
import { progress } from './kind';
import { Load, type Counts } from './load';

/** What became of a run of one kind. */
export interface Row extends Counts {
  readonly id: string;
  readonly name: string;
  readonly seed: number;
  readonly faults: number;
  /** Faults that met what they are about. */
  readonly met: number;
  readonly violations: readonly Violation[];
}

export async function runFaults(
  cluster: FaultCluster,
  kind: FaultKind,
  { count, seed }: { readonly count: number; readonly seed: number },
): Promise<Row> {
  const { id, name } = kind;
  const collection = `${id.toLowerCase()}-${seed}`;
  await cluster.createCollection(collection);
  await kind.prepare?.(cluster);
  const load = new Load(collection, () => cluster.urls(), seeded(seed), {
    givesUp: kind.verify === undefined,
  });
  const scene: Scene = { cluster, load, random: seeded(seed + 1) };
  let met = 0;
  await load.start();
  try {
    for (let number = 0; number < count; number += 1) {
      await progress(scene);
      if (await kind.inject(scene, number)) met += 1;
    }
    await progress(scene);
  } finally {
    await load.stop();
  }
  const counts = load.counts();
  kind.verify?.(scene);
  const violations = check(await cluster.rest(load), kind.losesRecords === true ? 'of each point' : 'of all');
  if (violations.length === 0) await cluster.dropCollection(collection);
  return { id, name, seed, faults: count, met, ...counts, violations };
}

const COLUMNS = [
  'fault',
  'faults',
  'met',
  'acknowledged',
  'unknown',
  'lost',
  'doubled',
  'other',
  'pause of writes',
  'pause of reads',
];

/** The rows as a table of text. */
export function tableOf(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const of = (...rules: Violation['rule'][]): number =>
      row.violations.filter(({ rule }) => rules.includes(rule)).length;
    const others = row.violations.length - of('lost', 'doubled');
    return [
      ...[row.id, row.faults, row.met, row.acknowledged, row.unknown, of('lost'), of('doubled'), others],
      ...[`${row.writePauseMs} ms`, `${row.readPauseMs} ms`],
    ].map(String);
  });
  const all = [COLUMNS, ...lines];
  const widths = COLUMNS.map((_, at) => Math.max(...all.map((line) => line[at]!.length)));
  return all
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths[at]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
