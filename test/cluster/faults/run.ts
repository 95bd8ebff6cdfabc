/** Runs faults of one kind under load, and says what came of it. */
import { seeded } from '../random';
import { check, type Violation } from './checker';
import type { FaultCluster } from './cluster';
import type { FaultKind, Scene } from './kind';
import { progress } from './kind';
import { Load, type Counts } from './load';

/** What became of a run of one kind. */
export interface Row {
  readonly id: string;
  readonly name: string;
  readonly seed: number;
  readonly counts: FaultCounts;
  readonly violations: readonly Violation[];
}

/** What `docs/soak.json` keeps of a run. */
interface FaultCounts extends Pick<Counts, 'acknowledged' | 'unknown' | 'writePauseMs' | 'readPauseMs'> {
  readonly faults: number;
  /** Faults that met what they are about. */
  readonly met: number;
  /** Violations: writes that were lost, writes that were doubled, and others. */
  readonly lost: number;
  readonly doubled: number;
  readonly others: number;
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
  const { acknowledged, unknown, writePauseMs, readPauseMs } = load.counts();
  kind.verify?.(scene);
  const violations = check(await cluster.rest(load), kind.losesRecords === true ? 'of each point' : 'of all');
  if (violations.length === 0) await cluster.dropCollection(collection);
  const counts = {
    ...{ faults: count, met, acknowledged, unknown },
    ...{ ...countsOf(violations), writePauseMs, readPauseMs },
  };
  return { id, name, seed, counts, violations };
}

function countsOf(violations: readonly Violation[]): Pick<FaultCounts, 'lost' | 'doubled' | 'others'> {
  const of = (wanted: Violation['rule']): number => violations.filter(({ rule }) => rule === wanted).length;
  const [lost, doubled] = [of('lost'), of('doubled')];
  return { lost, doubled, others: violations.length - lost - doubled };
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
  const lines = rows.map(({ id, counts }) => {
    const { faults, met, acknowledged, unknown, lost, doubled, others, writePauseMs, readPauseMs } = counts;
    return [
      ...[id, faults, met, acknowledged, unknown, lost, doubled, others],
      ...[`${writePauseMs} ms`, `${readPauseMs} ms`],
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
