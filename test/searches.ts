/** What the searches of a server did, as its metrics say. */
import { until } from './until';

/** Counts since the server was started. */
export interface Searches {
  /** Searches for the nearest that were not asked to be exact and have a graph, by the plan that they began with. */
  readonly walks: number;
  readonly scans: number;
  /** Nodes of graphs that walks expanded. */
  readonly hops: number;
}

/** Reads the metrics, which may be a second old. */
async function read(url: string): Promise<Searches> {
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
 * have no graph, may be among them.
 */
export async function withPlans<T>(
  url: string,
  expected: { readonly walks: number; readonly scans: number },
  run: () => Promise<T>,
): Promise<T> {
  const before = await settled(url);
  const result = await run();
  let after = before;
  await until(async () => {
    after = await read(url);
    return after.walks + after.scans >= before.walks + before.scans + expected.walks + expected.scans;
  }, 100);
  const plans = { walks: after.walks - before.walks, scans: after.scans - before.scans };
  expect(plans).toEqual(expected);
  expect(after.hops - before.hops).toBeGreaterThanOrEqual(expected.walks);
  return result;
}

/** The counts when no search is under way. */
async function settled(url: string): Promise<Searches> {
  // Metrics are made at most once a second: those after a pause are younger than the last search.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  return read(url);
}
