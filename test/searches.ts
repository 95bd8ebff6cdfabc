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
 * Runs searches of which so many have a graph to walk and must do so; others, which are exact or have no graph, may be
 * among them.
 */
export async function withWalks<T>(url: string, count: number, run: () => Promise<T>): Promise<T> {
  const before = await settled(url);
  const result = await run();
  let after = before;
  await until(async () => {
    after = await read(url);
    return after.walks + after.scans >= before.walks + before.scans + count;
  }, 100);
  expect({ walks: after.walks - before.walks, scans: after.scans - before.scans }).toEqual({
    walks: count,
    scans: 0,
  });
  expect(after.hops - before.hops).toBeGreaterThanOrEqual(count);
  return result;
}

/** The counts when no search is under way. */
async function settled(url: string): Promise<Searches> {
  // Metrics are made at most once a second: those after a pause are younger than the last search.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  return read(url);
}
