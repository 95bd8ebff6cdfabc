/**
 * Faults of a cluster of processes under load: nothing that was acknowledged is lost or doubled, and all replicas end equal.
 * `npm run test:long -- cluster-faults` runs them; KITHDB_CLUSTER_FAULTS says which, and how many of each.
 */
import { appendFileSync } from 'node:fs';
import { describeUnless, itUnless } from '../../missing';
import { isNoNats } from '../nats-server';
import { Child } from './child';
import { FaultCluster } from './cluster';
import { buildNodeProgram } from './data-node';
import { KINDS } from './kinds';
import { runFaults, tableOf, type Row } from './run';

const {
  KITHDB_CLUSTER_FAULTS: asked,
  KITHDB_CLUSTER_FAULTS_SEED: seedText = '1',
  KITHDB_CLUSTER_FAULTS_ROWS: file,
} = process.env;
const seed = Number(seedText);
const TIMEOUT_MS = 3_600_000;

/** How many faults of a kind: `short`, `long`, or a list such as `L1=5,L4=20`. */
function countOf(id: string, counts: { readonly short: number; readonly long: number }): number {
  if (asked === undefined || asked === 'short') return counts.short;
  if (asked === 'long') return counts.long;
  const named = new Map(asked.split(',').map((text) => text.split('=') as [string, string]));
  return Number(named.get(id) ?? 0);
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

  for (const kind of KINDS) {
    const count = countOf(kind.id, kind.counts);
    if (count === 0) continue;
    itUnless(kind.missing)(
      `${kind.id}: ${kind.name}, ${count} times: loses and doubles nothing`,
      async () => {
        let isWhole = false;
        try {
          cluster ??= await FaultCluster.start();
          const row = await runFaults(cluster, kind, { count, seed });
          rows.push(row);
          if (file !== undefined) appendFileSync(file, `${JSON.stringify(row)}\n`);
          expect(row.violations).toEqual([]);
          expect(row.met).toBeGreaterThan(0);
          isWhole = kind.isLast !== true;
        } finally {
          if (!isWhole) {
            await cluster?.end();
            cluster = undefined;
          }
        }
      },
      TIMEOUT_MS,
    );
  }
});
