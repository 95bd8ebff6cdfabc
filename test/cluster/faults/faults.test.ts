/**
 * Faults of a cluster of processes under load: nothing that was acknowledged is lost or doubled, and all replicas end equal.
 * `npm run test:long -- cluster-faults` runs many cases. KITHDB_CLUSTER_FAULTS says which: `FIRST:COUNT`, or kinds with the
 * number of their faults, such as `L1=5,L4=20`. The seed of a case decides which faults happen; when they meet what, and what
 * clients do meanwhile, is another matter.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeUnless, itUnless } from '../../missing';
import { isNoNats } from '../nats-server';
import { Child } from './child';
import { FaultCluster } from './cluster';
import { buildNodeProgram } from './data-node';
import type { FaultKind } from './kind';
import { KINDS } from './kinds';
import { runFaults, tableOf, type Row } from './run';

const { KITHDB_CLUSTER_FAULTS: asked = 'L1=1,L4=4', KITHDB_CLUSTER_FAULTS_ROWS: file } = process.env;
/** What processes have printed in cases that failed, and in those that use their cluster up. */
const OUTPUTS = join(__dirname, '..', '..', '..', '.build', 'cluster-faults');
const TIMEOUT_MS = 3_600_000;

interface Case {
  readonly kind: FaultKind;
  readonly count: number;
  readonly seed: number;
}

function cases(): readonly Case[] {
  const [, first, most] = /^(\d+):(\d+)$/.exec(asked) ?? [];
  if (first === undefined) {
    const counts = new Map(asked.split(',').map((text) => text.split('=') as [string, string]));
    return KINDS.flatMap((kind) => {
      const count = Number(counts.get(kind.id) ?? 0);
      return count > 0 ? [{ kind, count, seed: 1 }] : [];
    });
  }
  return Array.from({ length: Number(most) }, (_, at) => {
    const seed = Number(first) + at;
    const kind = KINDS[seed % KINDS.length]!;
    return { kind, count: kind.count, seed };
  });
}

describeUnless(isNoNats)('a cluster', () => {
  let cluster: FaultCluster | undefined;
  const rows: Row[] = [];

  beforeAll(buildNodeProgram);
  afterAll(async () => {
    await cluster?.end();
    await Child.killAll();
    process.stderr.write(`${tableOf(rows)}\n`);
  });

  for (const { kind, count, seed } of cases()) {
    itUnless(kind.missing)(
      `${kind.id}: ${kind.name}, ${count} times, seed ${seed}: nothing is lost or doubled`,
      async () => {
        let isWhole = false;
        try {
          cluster ??= await FaultCluster.start();
          const row = await runFaults(cluster, kind, { count, seed });
          rows.push(row);
          if (file !== undefined) appendFileSync(file, `${JSON.stringify(row)}\n`);
          expect(row.violations).toEqual([]);
          expect(row.counts.met).toBeGreaterThan(0);
          isWhole = kind.isLast !== true;
        } finally {
          if (!isWhole) {
            cluster?.keepOutputs(join(OUTPUTS, `${kind.id}-${seed}`));
            await cluster?.end();
            cluster = undefined;
          }
        }
      },
      TIMEOUT_MS,
    );
  }
});
