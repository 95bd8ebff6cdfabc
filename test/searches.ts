/** What the searches of a server did. */
import { sleep, until } from './until';

/** Counts since the server was started. */
export interface Searches {
  /** Searches for the nearest that were not asked to be exact and have a graph, by the plan that they began with. */
  readonly walks: number;
  readonly scans: number;
  /** Nodes of graphs that walks expanded. */
  readonly hops: number;
}

/** Metrics are made at most once a second. */
const METRICS_MS = 1_100;

/** The counts of a server as its metrics have them, with every search that was answered before. */
export async function searchesOf(url: string): Promise<Searches> {
  await sleep(METRICS_MS);
  const text = await (await fetch(`${url}/metrics`)).text();
  const sum = (sample: RegExp): number =>
    [...text.matchAll(sample)].reduce((total, [, value]) => total + Number(value), 0);
  return {
    walks: sum(/^kithdb_search_plans_total\{plan="(?:wide|two_hop)_walk"\} (\d+)$/gm),
    scans: sum(/^kithdb_search_plans_total\{plan="scan"\} (\d+)$/gm),
    hops: sum(/^kithdb_search_hops_total (\d+)$/gm),
  };
}

/**
 * Runs searches of which so many must walk a graph, and so many scan although there is one; others, which are exact or
 * have no graph, may be among them. `read` gives the counts.
 */
export async function withPlans<T>(
  read: () => Promise<Searches>,
  expected: { readonly walks: number; readonly scans: number },
  run: () => Promise<T>,
): Promise<T> {
  const before = await read();
  const result = await run();
  let after = before;
  await until(async () => {
    after = await read();
    return after.walks + after.scans >= before.walks + before.scans + expected.walks + expected.scans;
  });
  const plans = { walks: after.walks - before.walks, scans: after.scans - before.scans };
  expect(plans).toEqual(expected);
  expect(after.hops - before.hops).toBeGreaterThanOrEqual(expected.walks);
  return result;
}
